import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { readJsonLines } from '../../support/json-lines.ts'
import { deliberateDifferences } from './deliberate-differences.ts'
import { findDifferences, type PublicInterface } from './find-differences.ts'

/** Operations, parameters, members, types and required members, read from the generated Python client 0.13.0. */
const lines = readJsonLines(new URL('public-interface.jsonl', import.meta.url)) as readonly object[]
const publicInterface: PublicInterface = { operations: linesOf('operation'), schemas: linesOf('schema') }

function linesOf<Of>(kind: string): Readonly<Record<string, Of>> {
  const named = lines.filter((line): line is Of & Readonly<Record<string, string>> => kind in line)
  return Object.fromEntries(named.map((line) => [line[kind], line]))
}

const read = () => JSON.parse(getOpenApiDocument()) as Record<string, unknown>

it('the document differs from the public one only as listed', () => {
  expect(Object.keys(publicInterface.operations)).toHaveLength(54)
  const listed = Object.values(deliberateDifferences).flat()
  expect(findDifferences(read(), publicInterface)).toEqual(listed.toSorted())
})

it('objects have the names of the public document, which become those of generated classes', () => {
  const { schemas } = read()['components'] as { readonly schemas: object }
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(Object.keys(publicInterface.schemas)))
})

it.each<[what: string, change: (text: string) => string, expected: string]>([
  ['a parameter', (text) => text.replace('"include_declared"', '"declared"'), 'ListTables?include_declared'],
  [
    'a member',
    (text) => text.replaceAll('"table_uri"', '"uri"'),
    'DescribeTableResponse.table_uri: only public',
  ],
  [
    'a type',
    (text) =>
      text.replaceAll('"managed_versioning":{"type":"boolean"', '"managed_versioning":{"type":"string"'),
    'managed_versioning type: string, public boolean',
  ],
  ['a status', (text) => text.replaceAll('"202":', '"200":'), 'no status 202'],
  [
    'a requirement',
    (text) => text.replace('"required":["new_table_name"]', '"required":[]'),
    'required RenameTableRequest.new_table_name: only public',
  ],
])('the comparison finds %s that differs', (_what, change, expected) => {
  const changed = JSON.parse(change(getOpenApiDocument())) as Record<string, unknown>
  expect(findDifferences(changed, publicInterface).join('\n')).toContain(expected)
})
