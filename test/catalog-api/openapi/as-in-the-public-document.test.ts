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
