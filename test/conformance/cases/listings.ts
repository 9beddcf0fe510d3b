import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { cases, type World } from '../world.ts'

/** Creates a namespace with three children. */
async function family({ ok, namespace }: World) {
  const id = await namespace()
  for (const name of ['b', 'a', 'C']) await ok('CreateNamespace', [...id, name], { body: {} })
  return id
}

/** The listings of the catalog (interface section 5). */
export const listingCases = cases({
  ListNamespaces: {
    'the names of the children alone, in byte order': async (world) => {
      const id = await family(world)
      await world.ok('CreateNamespace', [...id, 'a', 'below'], { body: {} })
      deepEqual((await world.ok('ListNamespaces', id))['namespaces'], ['C', 'a', 'b'])
    },
    'pages of any size hold every name once': async (world) => {
      const id = await family(world)
      for (const limit of [1, 2, 3, 4]) {
        const names: unknown[] = []
        let token: unknown = ''
        do {
          const query = { limit: String(limit), page_token: String(token) }
          const page = await world.ok('ListNamespaces', id, { query })
          const found = page['namespaces'] as string[]
          assert(found.length <= limit)
          names.push(...found)
          token = page['page_token'] ?? ''
        } while (token !== '')
        deepEqual(names, ['C', 'a', 'b'])
      }
    },
    'an empty limit and token are none, a limit that is no count is refused': async (world) => {
      const id = await family(world)
      const query = { limit: '', page_token: '' }
      equal(((await world.ok('ListNamespaces', id, { query }))['namespaces'] as []).length, 3)
      for (const limit of ['-1', 'many', '1.5']) {
        await world.refused('ListNamespaces', id, { query: { limit } }, 'InvalidInput')
      }
    },
    'the root holds the namespace of this run': async ({ ok, home }) => {
      assert(((await ok('ListNamespaces', []))['namespaces'] as string[]).includes(home[0] ?? ''))
    },
  },
  ListTables: {
    'bare names in byte order, in pages of any size': async ({ ok, namespace }) => {
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
    'declared tables can be left out': async ({ ok, namespace }) => {
      const id = await namespace()
      await ok('DeclareTable', [...id, 'declared'], { body: {} })
      await ok('CreateTable', [...id, 'made'], { body: rows(1) })
      const query = { include_declared: 'false' }
      deepEqual((await ok('ListTables', id, { query }))['tables'], ['made'])
      deepEqual((await ok('ListTables', id))['tables'], ['declared', 'made'])
    },
  },
  ListAllTables: {
    'full ids, joined by the delimiter of the request, once each over all pages': async ({
      ok,
      standing,
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
        equal(found.filter((id) => id === standing.join(delimiter ?? '$')).length, 1)
        equal(new Set(found).size, found.length)
      }
    },
    'a trailing slash means nothing': async ({ ok }) => {
      await ok('ListAllTables', [], { trailingSlash: true })
    },
  },
})
