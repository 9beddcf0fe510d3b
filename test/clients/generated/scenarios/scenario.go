// What a user does with a generated Go client: scenario ARROW_FILE URL KEY
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.org/catalog/client"
)

func step(name string, action func() error) {
	if err := action(); err != nil {
		fmt.Printf("failed %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("ok", name)
}

func expect[Value comparable](found Value, expected Value) error {
	if found != expected {
		return fmt.Errorf("expected %v, found %v", expected, found)
	}
	return nil
}

func pointer[Value any](value Value) *Value { return &value }

func main() {
	rows := func() *os.File {
		file, err := os.Open(os.Args[1])
		if err != nil {
			panic(err)
		}
		return file
	}
	configuration := catalog.NewConfiguration()
	configuration.Servers = catalog.ServerConfigurations{{URL: os.Args[2]}}
	configuration.AddDefaultHeader("x-api-key", os.Args[3])
	client := catalog.NewAPIClient(configuration)
	namespaces, tables := client.NamespaceAPI, client.TableAPI
	ctx := context.Background()
	id := "go$people"

	step("create a namespace", func() error {
		_, _, err := namespaces.CreateNamespace(ctx, "go").CreateNamespaceRequest(catalog.CreateNamespaceRequest{}).Execute()
		return err
	})
	step("create a table", func() error {
		_, _, err := tables.CreateTable(ctx, id).Body(rows()).Execute()
		return err
	})
	step("insert", func() error {
		inserted, _, err := tables.InsertIntoTable(ctx, id).Body(rows()).Execute()
		if err != nil {
			return err
		}
		return expect(inserted.GetNumInsertedRows(), int64(3))
	})
	step("count", func() error {
		count, _, err := tables.CountTableRows(ctx, id).CountTableRowsRequest(catalog.CountTableRowsRequest{}).Execute()
		if err != nil {
			return err
		}
		return expect(count, int64(6))
	})
	step("describe", func() error {
		table, _, err := tables.DescribeTable(ctx, id).DescribeTableRequest(catalog.DescribeTableRequest{
			LoadDetailedMetadata: pointer(true),
		}).Execute()
		if err != nil {
			return err
		}
		return expect(table.GetVersion(), int64(2))
	})
	step("query", func() error {
		found, _, err := tables.QueryTable(ctx, id).QueryTableRequest(catalog.QueryTableRequest{
			K:       pointer(int64(3)),
			Vector:  &catalog.QueryTableRequestVector{SingleVector: []float32{0.1, 0.2}},
			Columns: &catalog.QueryTableRequestColumns{ColumnNames: []string{"id"}},
		}).Execute()
		if err != nil {
			return err
		}
		start := make([]byte, 6)
		if _, err := io.ReadFull(found, start); err != nil {
			return err
		}
		return expect(string(start), "ARROW1")
	})
	step("update", func() error {
		updated, _, err := tables.UpdateTable(ctx, id).UpdateTableRequest(catalog.UpdateTableRequest{
			Predicate: pointer("id = 1"),
			Updates:   [][]string{{"id", "id + 10"}},
		}).Execute()
		if err != nil {
			return err
		}
		return expect(updated.UpdatedRows, int64(2))
	})
	step("add a column", func() error {
		altered, _, err := tables.AlterTableAddColumns(ctx, id).AlterTableAddColumnsRequest(catalog.AlterTableAddColumnsRequest{
			NewColumns: []catalog.AddColumnsEntry{{Name: "twice", Expression: pointer("id * 2")}},
		}).Execute()
		if err != nil {
			return err
		}
		return expect(altered.Version, int64(4))
	})
	step("list versions", func() error {
		listed, _, err := tables.ListTableVersions(ctx, id).Execute()
		if err != nil {
			return err
		}
		return expect(listed.Versions[0].GetTimestampMillis() > 1<<40, true)
	})
	step("list tables", func() error {
		listed, _, err := namespaces.ListTables(ctx, "go").Limit(1).Execute()
		if err != nil {
			return err
		}
		return expect(strings.Join(listed.Tables, ","), "people")
	})
	step("an error has its code", func() error {
		_, _, err := tables.DescribeTable(ctx, "go$missing").DescribeTableRequest(catalog.DescribeTableRequest{}).Execute()
		var sent *catalog.GenericOpenAPIError
		if !errors.As(err, &sent) {
			return fmt.Errorf("expected an error, found %v", err)
		}
		var described catalog.ErrorResponse
		if err := json.Unmarshal(sent.Body(), &described); err != nil {
			return err
		}
		return expect(described.Code, int32(4))
	})
	step("drop the table", func() error {
		_, _, err := tables.DropTable(ctx, id).Execute()
		return err
	})
	step("drop the namespace", func() error {
		_, _, err := namespaces.DropNamespace(ctx, "go").DropNamespaceRequest(catalog.DropNamespaceRequest{}).Execute()
		return err
	})
}
