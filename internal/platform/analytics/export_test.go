package analytics

// TargetsIn is Trail.Targets with slices of another size.
var TargetsIn = Trail.targets

// PagesIn is DB.Pages with queries of so many pages.
var PagesIn = pages
