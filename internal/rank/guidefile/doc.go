// Package guidefile opens the file of a guide of any kind. The first line of the file names its kind (package modelfile);
// Ranker returns the name of that kind in crawl files.
package guidefile
