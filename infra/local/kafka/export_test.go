package kafka

// Addresses returns those that clients connect to.
func (b *Broker) Addresses() []string { return b.cluster.ListenAddrs() }
