package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.org/catalog/client"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	url := os.Getenv("CATALOG_URL")
	if url == "" {
		url = "http://127.0.0.1:2333"
	}
	configuration := catalog.NewConfiguration()
	configuration.Servers = catalog.ServerConfigurations{{URL: url}}
	configuration.AddDefaultHeader("x-api-key", os.Getenv("KEY"))
	tables := catalog.NewAPIClient(configuration).TableAPI

	rows, err := writeRows()
	check(err)
	ctx := context.Background()
	_, _, err = tables.CreateTable(ctx, "first_go").Mode("Overwrite").Body(rows).Execute()
	check(err)
	count, _, err := tables.CountTableRows(ctx, "first_go").CountTableRowsRequest(catalog.CountTableRowsRequest{}).Execute()
	check(err)
	fmt.Println(count)
}

// writeRows returns a file with an Arrow stream, which the generated client sends as a body.
func writeRows() (*os.File, error) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	batch := builder.NewRecordBatch()
	defer batch.Release()

	path := filepath.Join(os.TempDir(), "rows.arrows")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	writer := ipc.NewWriter(file, ipc.WithSchema(schema))
	if err := writer.Write(batch); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, 0)
	return file, err
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
