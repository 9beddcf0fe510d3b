import { deepEqual, equal } from 'node:assert/strict'
import { cases, type World } from '../world.ts'

const owned = { owner: 'ann' }

/** Creates a namespace with three children. */
async function family({ ok, namespace }: World) {
  const id = await namespace()
  for (const name of ['b', 'a', 'C']) await ok('CreateNamespace', [...id, name], { body: {} })
  return id
}

/** The operations on namespaces (interface sections 2.2, 5 and 9). */
export const namespaceCases = cases({
  CreateNamespace: {
    'it is there afterwards, with its properties': async ({ ok, fresh }) => {
      const id = fresh()
      deepEqual((await ok('CreateNamespace', id, { body: { properties: owned } }))['properties'], owned)
      deepEqual((await ok('DescribeNamespace', id))['properties'], owned)
    },
    'a name that is taken is refused, in every spelling of the mode Create': async ({
      refused,
      namespace,
    }) => {
      const id = await namespace()
      for (const mode of [undefined, null, 'Create', 'create', 'CREATE', '"Create"']) {
        await refused('CreateNamespace', id, { body: { mode } }, 'NamespaceAlreadyExists')
      }
    },
    'the mode ExistOk leaves what is there': async ({ ok, fresh }) => {
      const id = fresh()
      await ok('CreateNamespace', id, { body: { properties: owned } })
      for (const mode of ['ExistOk', 'exist_ok', 'EXIST_OK', 'existok', '"ExistOk"']) {
        const body = { mode, properties: { owner: 'bob' } }
        deepEqual((await ok('CreateNamespace', id, { body }))['properties'], owned)
      }
    },
    'the mode Overwrite replaces the properties': async ({ ok, namespace }) => {
      const id = await namespace()
      await ok('CreateNamespace', id, { body: { mode: 'overwrite', properties: owned } })
      deepEqual((await ok('DescribeNamespace', id))['properties'], owned)
    },
    'an unknown mode and properties that are no strings are refused': async ({ refused, fresh }) => {
      await refused('CreateNamespace', fresh(), { body: { mode: 'Sometimes' } }, 'InvalidInput')
      await refused('CreateNamespace', fresh(), { body: { properties: { a: 1 } } }, 'InvalidInput')
    },
    'the root is there already': ({ refused }) =>
      refused('CreateNamespace', [], { body: {} }, 'NamespaceAlreadyExists'),
    'the name of a table is taken': ({ refused, standing }) =>
      refused('CreateNamespace', standing, { body: {} }, 'NamespaceAlreadyExists'),
  },
  DescribeNamespace: {
    'the root can be described': async ({ ok }) => {
      equal(typeof (await ok('DescribeNamespace', []))['properties'], 'object')
    },
    'a table is no namespace': ({ refused, standing }) =>
      refused('DescribeNamespace', standing, {}, 'NamespaceNotFound'),
  },
  NamespaceExists: {
    'the answer is empty': async ({ ok, namespace }) => {
      await ok('NamespaceExists', await namespace())
      await ok('NamespaceExists', [])
    },
  },
  DropNamespace: {
    'it is gone afterwards': async ({ ok, refused, namespace }) => {
      const id = await namespace()
      await ok('DropNamespace', id, { body: {} })
      await refused('NamespaceExists', id, {}, 'NamespaceNotFound')
    },
    'one that is not empty stays': async (world) => {
      const id = await family(world)
      for (const behavior of [undefined, null, 'Restrict', 'restrict', '"Restrict"']) {
        await world.refused('DropNamespace', id, { body: { behavior } }, 'NamespaceNotEmpty')
      }
      await world.ok('NamespaceExists', [...id, 'a'])
    },
    'the behavior Cascade drops what is below': async (world) => {
      const id = await family(world)
      await world.ok('DropNamespace', id, { body: { behavior: 'cascade' } })
      await world.refused('NamespaceExists', [...id, 'a'], {}, 'NamespaceNotFound')
    },
    'the mode Skip is content with one that is not there': async ({ ok, refused, fresh }) => {
      const id = fresh()
      for (const mode of ['Skip', 'skip', '"Skip"']) await ok('DropNamespace', id, { body: { mode } })
      await refused('DropNamespace', id, { body: { mode: 'Fail' } }, 'NamespaceNotFound')
    },
    'unknown modes and behaviors are refused, as is the root': async ({ refused, home }) => {
      await refused('DropNamespace', home, { body: { mode: 'Maybe' } }, 'InvalidInput')
      await refused('DropNamespace', home, { body: { behavior: 'Some' } }, 'InvalidInput')
      await refused('DropNamespace', [], { body: {} }, 'InvalidInput')
    },
  },
})
