import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { cases, type Fixture } from '../fixture.ts'

async function family({ ok, namespace }: Fixture) {
  const id = await namespace()
  for (const name of ['b', 'a', 'C']) await ok('CreateNamespace', [...id, name], { body: {} })
  return id
}

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
        const names: unknown[] = []
        let token: unknown = ''
        do {
          const query = { limit: String(limit), page_token: String(token) }
          const page = await fixture.ok('ListNamespaces', id, { query })
          const found = page['namespaces'] as string[]
          assert(found.length <= limit)
          names.push(...found)
          token = page['page_token'] ?? ''
        } while (token !== '')
        deepEqual(names, ['C', 'a', 'b'])
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
    'lists names without namespaces in byte order, in pages of any size': async ({ ok, namespace }) => {
      const id = await namespace()
      for (const name of ['b', 'a', 'C']) await ok('DeclareTable', [...id, name], { body: {} })
      for (const limit of ['', '1', '2', '3']) {
        const names: unknown[] = []
        let token: unknown = ''
        do {
          const page = await ok('ListTables', id, { query: { limit, page_token: String(token) } })
          names.push(...(page['tables'] as string[]))
          token = page['page_token'] ?? ''
        } while (token !== '')
        deepEqual(names, ['C', 'a', 'b'])
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
    'lists full ids with the delimiter of the request, once each over all pages': async ({
      ok,
      sampleTable,
    }) => {
      for (const delimiter of [undefined, '.', '::']) {
        const found: string[] = []
        let token: unknown = ''
        do {
          const page = await ok('ListAllTables', [], {
            query: { limit: '7', page_token: String(token) },
            ...(delimiter !== undefined && { delimiter }),
          })
          found.push(...(page['tables'] as string[]))
          token = page['page_token'] ?? ''
        } while (token !== '')
        equal(found.filter((id) => id === sampleTable.join(delimiter ?? '$')).length, 1)
        equal(new Set(found).size, found.length)
      }
    },
    'ignores a trailing slash': async ({ ok }) => {
      await ok('ListAllTables', [], { trailingSlash: true })
    },
  },
})
