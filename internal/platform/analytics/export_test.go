package analytics

// TargetsIn is Trail.Targets with slices of another size.
var TargetsIn = Trail.targets
