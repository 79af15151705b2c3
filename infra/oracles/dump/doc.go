// Command dump writes Forager's results for some input to standard output, as JSON. The Python
// tests in infra/oracles compare them with the results of other programs for the same input.
//
//	dump archive -out FOLDER (-web FILE | -config FILE)      files of the archive and the records that they hold
//	dump clickhouse -dir FOLDER -query SELECT                 what ClickHouse reads in such files
//	dump segments (-out FOLDER [-web FILE] | -read FILE)      WARC files and the pages in them
//	dump leaves -web FILE                                     the numbered leaves of a web's pages
//	dump resolve -in FILE                                     links made canonical
//	dump robots -files FOLDER                                 what robots.txt files allow
//	dump bayes -taxonomy FILE                                 naive Bayes of pages and of links
//	dump critics -taxonomy FILE                               the other critics, and calibration
//	dump speed -texts FILE                                    CPU time of training and applying a critic
//	dump positive                                             learning from positive pages only
//	dump distill                                              hubs and authorities
//	dump cosine                                               cosines of TF-IDF vectors
package main
