// Package view has what the monitor's page and API show: the state of every crawl, held in memory as in crawl.status, and
// questions to ClickHouse, each bounded in time and in rows. It also makes text of the web safe to be shown.
package view
