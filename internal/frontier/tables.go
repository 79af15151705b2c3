package frontier

import "container/list"

// tableBudget bounds the decoded leaf tables in memory, in tokens (four bytes each, and about
// as much again for terms and leaves). Re-scoring goes best first, so it jumps from page to
// page and wants the tables of all pages with pending links: 4 million tokens are some 10,000
// pages.
const tableBudget = 4 << 20

// tableCache keeps the leaf tables that were used last.
type tableCache struct {
	recent list.List // of *page, the most recent first
	at     map[uint64]*list.Element
	tokens int
}

func newTableCache() tableCache { return tableCache{at: make(map[uint64]*list.Element)} }

func tableSize(p *page) int { return len(p.table.GetTokens()) + 64 }

// keep marks the page's table as just used and lets go of others beyond the budget.
func (c *tableCache) keep(p *page) {
	if e, ok := c.at[p.number]; ok {
		c.recent.MoveToFront(e)
		return
	}
	c.at[p.number] = c.recent.PushFront(p)
	c.tokens += tableSize(p)
	for c.tokens > tableBudget && c.recent.Len() > 1 {
		c.drop(c.recent.Back().Value.(*page))
	}
}

// drop lets go of the page's table.
func (c *tableCache) drop(p *page) {
	e, ok := c.at[p.number]
	if !ok {
		return
	}
	c.tokens -= tableSize(p)
	c.recent.Remove(e)
	delete(c.at, p.number)
	p.table = nil
}
