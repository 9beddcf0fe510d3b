import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { backendWithTable, responseOf } from '../support/running-backend.ts'

interface Race {
  readonly target: string
  readonly bodyOf: (index: number) => unknown
  /** The status of the others; default: 409. */
  readonly refusal?: number
  /** A target of GET, with what it returns after the race that this one has won. */
  readonly found?: readonly [target: string, jsonOf: (winner: number) => unknown]
}

const races: Readonly<Record<string, Race>> = {
  namespaces: { target: 'namespace/a/create', bodyOf: () => ({}) },
  tables: {
    target: 'table/u/create',
    bodyOf: (index) => streamOf(orders(index + 1)),
    found: ['table/u/count_rows', (winner) => winner + 1],
  },
  tags: { target: 'table/t/tags/create', bodyOf: (index) => ({ tag: 'x', version: 1 + (index % 2) }) },
  branches: { target: 'table/t/branches/create', bodyOf: () => ({ name: 'x' }) },
  'new names': {
    target: 'table/t/rename',
    bodyOf: (index) => ({ new_table_name: `u${index}` }),
    refusal: 404,
    found: ['table', (winner) => ({ tables: [`u${winner}`] })],
  },
}

it.each(Object.entries(races))('exactly one of many concurrent %s wins', async (_kind, race) => {
  const { target, bodyOf, refusal = 409, found } = race
  const { post, get } = await backendWithTable(orders(2))
  await post('/v1/table/t/insert', streamOf(orders(1, 2)))
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, index) => post(`/v1/${target}`, bodyOf(index))),
  )
  const winner = responses.findIndex(({ status }) => status === 200)
  const expected = responses.map((_, index) => (index === winner ? 200 : refusal))
  expect(responses.map(({ status }) => status)).toEqual(expected)
  if (found) expect(await get(`/v1/${found[0]}`)).toEqual(responseOf(found[1](winner)))
})
