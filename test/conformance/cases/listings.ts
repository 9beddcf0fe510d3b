import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { cases, createFamily as family, readPages } from '../fixture.ts'

export const listingCases = cases({
  ListNamespaces: {
    'lists only children, in byte order': async (fixture) => {
      const id = await family(fixture)
      await fixture.ok('CreateNamespace', [...id, 'a', 'below'], { body: {} })
      deepEqual((await fixture.ok('ListNamespaces', id))['namespaces'], ['C', 'a', 'b'])
    },
    'lists every name once, in pages of any size': async (fixture) => {
      const id = await family(fixture)
      for (const limit of [1, 2, 3, 4]) {
        const query = { limit: String(limit) }
        const pages = await readPages(fixture, 'ListNamespaces', 'namespaces', { id, query })
        assert(pages.every(({ length }) => length <= limit))
        deepEqual(pages.flat(), ['C', 'a', 'b'])
      }
    },
    'ignores an empty limit and token, and rejects an invalid limit': async (fixture) => {
      const id = await family(fixture)
      const query = { limit: '', page_token: '' }
      equal(((await fixture.ok('ListNamespaces', id, { query }))['namespaces'] as []).length, 3)
      for (const limit of ['-1', 'many', '1.5']) {
        await fixture.expectError('ListNamespaces', id, { query: { limit } }, 'InvalidInput')
      }
    },
    'lists the namespace of this run in the root': async ({ ok, runNamespace }) => {
      assert(((await ok('ListNamespaces', []))['namespaces'] as string[]).includes(runNamespace[0] ?? ''))
    },
  },
  ListTables: {
    'lists names without namespaces in byte order, in pages of any size': async (fixture) => {
      const id = await fixture.namespace()
      for (const name of ['b', 'a', 'C']) await fixture.ok('DeclareTable', [...id, name], { body: {} })
      for (const limit of ['', '1', '2', '3']) {
        const pages = await readPages(fixture, 'ListTables', 'tables', { id, query: { limit } })
        deepEqual(pages.flat(), ['C', 'a', 'b'])
      }
    },
    'can exclude declared tables': async ({ ok, namespace }) => {
      const id = await namespace()
      await ok('DeclareTable', [...id, 'declared'], { body: {} })
      await ok('CreateTable', [...id, 'made'], { body: rows(1) })
      const query = { include_declared: 'false' }
      deepEqual((await ok('ListTables', id, { query }))['tables'], ['made'])
      deepEqual((await ok('ListTables', id))['tables'], ['declared', 'made'])
    },
  },
  ListAllTables: {
    'lists full ids with the delimiter of the request, once each over all pages': async (fixture) => {
      for (const delimiter of [undefined, '.', '::']) {
        const parts = { id: [], query: { limit: '7' }, ...(delimiter !== undefined && { delimiter }) }
        const found = (await readPages<string>(fixture, 'ListAllTables', 'tables', parts)).flat()
        equal(found.filter((id) => id === fixture.sampleTable.join(delimiter ?? '$')).length, 1)
        equal(new Set(found).size, found.length)
      }
    },
    'ignores a trailing slash': async ({ ok }) => {
      await ok('ListAllTables', [], { trailingSlash: true })
    },
  },
})
