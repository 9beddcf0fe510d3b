import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { backendWithTable, errorOf } from '../support/running-backend.ts'

it('plans are one JSON string and name no path of the machine', async () => {
  const { post, dataFolder } = await backendWithTable()
  const query = { k: 3, vector: { single_vector: [1, 1] }, filter: 'id > 1' }
  const requested: readonly [string, object][] = [
    ['explain_plan', { query }],
    ['explain_plan', { query: { ...query, id: ['t'], vector: [1, 1] }, verbose: true, id: ['t'] }],
    ['explain_plan', { ...query, branch: 'main' }],
    ['explain_plan', { query: { k: 2 ** 63, vector: [] } }],
    ['analyze_plan', query],
    ['analyze_plan', { query }],
    ['analyze_plan', { ...query, version: 1 }],
  ]
  for (const [route, body] of requested) {
    const { status, json } = await post(`/v1/table/t/${route}`, body)
    expect([status, json]).toEqual([200, expect.stringContaining('LanceRead: ')])
    expect(json).toContain('uri=<table>/data')
    for (const part of [dataFolder.slice(1), 'tables/', '/tmp']) expect(json).not.toContain(part)
    expect(String(json).includes('elapsed=')).toBe(route === 'analyze_plan')
  }
})

const accepted = [
  ['text/plain', 'text/plain'],
  ['Text/Plain;q=0.9, text/html', 'text/plain'],
  ['application/json, text/plain, */*', 'application/json'],
  ['text/plain, application/*', 'application/json'],
  ['*/*', 'application/json'],
] as const

it('a plan has the type that its client accepts', async () => {
  const { url } = await backendWithTable()
  for (const [accept, type] of accepted) {
    const response = await fetch(`${url()}/v1/table/t/explain_plan`, {
      method: 'POST',
      headers: { accept },
      body: JSON.stringify({ query: { k: 3, vector: [1, 1] } }),
    })
    expect(response.headers.get('content-type'), accept).toBe(`${type}; charset=utf-8`)
    expect((await response.text()).startsWith('"'), accept).toBe(type === 'application/json')
  }
})

const refused: readonly [route: string, body: object, error: ErrorName][] = [
  ['explain_plan', { query: null, verbose: true }, 'InvalidInput'],
  ['explain_plan', { query: { k: 1, id: ['x'] } }, 'InvalidInput'],
  ['explain_plan', { query: { k: 1 }, verbose: 'yes' }, 'InvalidInput'],
  ['explain_plan', { query: { k: 1, branch: 'a' }, branch: 'b' }, 'InvalidInput'],
  ['explain_plan', { query: { k: 1, filter: 'nothing = 1' } }, 'InvalidInput'],
  ['explain_plan', { query: { k: 1, branch: 'dev' } }, 'TableBranchNotFound'],
  ['explain_plan', { query: { k: 1 }, branch: 'dev' }, 'TableBranchNotFound'],
  ['explain_plan', { query: { k: 1, version: 9 } }, 'TableVersionNotFound'],
  ['analyze_plan', { k: 1, version: 9 }, 'TableVersionNotFound'],
  ['analyze_plan', { k: 1, branch: 'dev' }, 'TableBranchNotFound'],
]

it('rejects a query without a plan', async () => {
  const { post } = await backendWithTable()
  for (const [route, body, error] of refused) {
    expect([body, await post(`/v1/table/t/${route}`, body)]).toEqual([body, errorOf(error)])
  }
})
