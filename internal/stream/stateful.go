package stream

// AcceptLossFile is the name of a file.
const AcceptLossFile = "accept-loss"
