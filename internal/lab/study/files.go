package study

import (
	"encoding/csv"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Row is one run in runs.csv and runs.parquet: its configuration, its inputs and its results.
type Row struct {
	Study         string `parquet:"study,dict"`
	Task          string `parquet:"task,dict"`
	Draw          int32  `parquet:"draw"`
	Variant       string `parquet:"variant,dict"`
	Ranker        string `parquet:"ranker,dict"`
	Access        string `parquet:"access,dict"`
	Settings      string `parquet:"settings,dict"`
	Seed          int64  `parquet:"seed"`
	Web           string `parquet:"web,dict"`
	WebDigest     string `parquet:"web_digest,dict"`
	Critic        string `parquet:"critic,dict"`
	CriticDigest  string `parquet:"critic_digest,dict"`
	TasksDigest   string `parquet:"tasks_digest,dict"`
	ProgramDigest string `parquet:"program_digest,dict"`
	// Requests that trained the ranker before the crawl.
	Training int64 `parquet:"training_requests"`
	// Budget in pages; number of targets of the task.
	Budget  int64 `parquet:"budget"`
	Targets int64 `parquet:"targets"`
	// Measures; see experiment.Measures.
	Pages       int64   `parquet:"pages"`
	Requests    int64   `parquet:"requests"`
	Bytes       int64   `parquet:"bytes"`
	EndReason   string  `parquet:"end_reason,dict"`
	Label25     float64 `parquet:"harvest_label_25"`
	Label50     float64 `parquet:"harvest_label_50"`
	Label100    float64 `parquet:"harvest_label_100"`
	Critic25    float64 `parquet:"harvest_critic_25"`
	Critic50    float64 `parquet:"harvest_critic_50"`
	Critic100   float64 `parquet:"harvest_critic_100"`
	Loss25      float64 `parquet:"loss_25"`
	Loss100     float64 `parquet:"loss_100"`
	Recall      float64 `parquet:"recall"`
	AUC         float64 `parquet:"auc"`
	RequestAUC  float64 `parquet:"request_auc"`
	TargetHosts int64   `parquet:"target_hosts"`
	// Share of the loss of soft focus from the same seeds that was avoided; nil without such a crawl.
	LossCut25  *float64 `parquet:"loss_cut_25,optional"`
	LossCut100 *float64 `parquet:"loss_cut_100,optional"`
	// See experiment.Similarity; nil on computed webs.
	Cosine50 *float64 `parquet:"precision_cosine_50,optional"`
	Cosine60 *float64 `parquet:"precision_cosine_60,optional"`
	Cosine70 *float64 `parquet:"precision_cosine_70,optional"`
	Cosine80 *float64 `parquet:"precision_cosine_80,optional"`
	Sigma    *float64 `parquet:"sigma,optional"`
}

// WriteParquet writes rows as one Parquet file; the same rows give the same bytes.
func WriteParquet(w io.Writer, rows []Row) error {
	p := parquet.NewGenericWriter[Row](w, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("forager", "", ""))
	if _, err := p.Write(rows); err != nil {
		return err
	}
	return p.Close()
}

// WriteCSV writes rows with a line of column names, those of the Parquet file.
func WriteCSV(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		names = append(names, column(field))
	}
	if err := c.Write(names); err != nil {
		return err
	}
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		cells := make([]string, v.NumField())
		for k := range cells {
			cells[k] = cell(v.Field(k))
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func column(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	return name
}

func cell(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "" // NULL for readers
	case v.Kind() == reflect.Pointer:
		return cell(v.Elem())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64) // some readers take 1e-9 for text
	}
	return v.String()
}
