import { deepEqual, equal } from 'node:assert/strict'
import { cases, type Fixture } from '../fixture.ts'

const owned = { owner: 'ann' }

async function family({ ok, namespace }: Fixture) {
  const id = await namespace()
  for (const name of ['b', 'a', 'C']) await ok('CreateNamespace', [...id, name], { body: {} })
  return id
}

export const namespaceCases = cases({
  CreateNamespace: {
    'creates the namespace with its properties': async ({ ok, unusedId }) => {
      const id = unusedId()
      deepEqual((await ok('CreateNamespace', id, { body: { properties: owned } }))['properties'], owned)
      deepEqual((await ok('DescribeNamespace', id))['properties'], owned)
    },
    'rejects an existing name, in every spelling of the mode Create': async ({ expectError, namespace }) => {
      const id = await namespace()
      for (const mode of [undefined, null, 'Create', 'create', 'CREATE', '"Create"']) {
        await expectError('CreateNamespace', id, { body: { mode } }, 'NamespaceAlreadyExists')
      }
    },
    'leaves an existing namespace unchanged with the mode ExistOk': async ({ ok, unusedId }) => {
      const id = unusedId()
      await ok('CreateNamespace', id, { body: { properties: owned } })
      for (const mode of ['ExistOk', 'exist_ok', 'EXIST_OK', 'existok', '"ExistOk"']) {
        const body = { mode, properties: { owner: 'bob' } }
        deepEqual((await ok('CreateNamespace', id, { body }))['properties'], owned)
      }
    },
    'replaces the properties with the mode Overwrite': async ({ ok, namespace }) => {
      const id = await namespace()
      await ok('CreateNamespace', id, { body: { mode: 'overwrite', properties: owned } })
      deepEqual((await ok('DescribeNamespace', id))['properties'], owned)
    },
    'rejects an unknown mode, and properties that are not strings': async ({ expectError, unusedId }) => {
      await expectError('CreateNamespace', unusedId(), { body: { mode: 'Sometimes' } }, 'InvalidInput')
      await expectError('CreateNamespace', unusedId(), { body: { properties: { a: 1 } } }, 'InvalidInput')
    },
    'rejects creating the root': ({ expectError }) =>
      expectError('CreateNamespace', [], { body: {} }, 'NamespaceAlreadyExists'),
    'rejects the name of a table': ({ expectError, sampleTable }) =>
      expectError('CreateNamespace', sampleTable, { body: {} }, 'NamespaceAlreadyExists'),
  },
  DescribeNamespace: {
    'describes the root': async ({ ok }) => {
      equal(typeof (await ok('DescribeNamespace', []))['properties'], 'object')
    },
    'rejects a table': ({ expectError, sampleTable }) =>
      expectError('DescribeNamespace', sampleTable, {}, 'NamespaceNotFound'),
  },
  NamespaceExists: {
    'returns an empty response': async ({ ok, namespace }) => {
      await ok('NamespaceExists', await namespace())
      await ok('NamespaceExists', [])
    },
  },
  DropNamespace: {
    'drops the namespace': async ({ ok, expectError, namespace }) => {
      const id = await namespace()
      await ok('DropNamespace', id, { body: {} })
      await expectError('NamespaceExists', id, {}, 'NamespaceNotFound')
    },
    'does not drop a namespace that is not empty': async (fixture) => {
      const id = await family(fixture)
      for (const behavior of [undefined, null, 'Restrict', 'restrict', '"Restrict"']) {
        await fixture.expectError('DropNamespace', id, { body: { behavior } }, 'NamespaceNotEmpty')
      }
      await fixture.ok('NamespaceExists', [...id, 'a'])
    },
    'drops everything below with the behavior Cascade': async (fixture) => {
      const id = await family(fixture)
      await fixture.ok('DropNamespace', id, { body: { behavior: 'cascade' } })
      await fixture.expectError('NamespaceExists', [...id, 'a'], {}, 'NamespaceNotFound')
    },
    'accepts a missing namespace with the mode Skip': async ({ ok, expectError, unusedId }) => {
      const id = unusedId()
      for (const mode of ['Skip', 'skip', '"Skip"']) await ok('DropNamespace', id, { body: { mode } })
      await expectError('DropNamespace', id, { body: { mode: 'Fail' } }, 'NamespaceNotFound')
    },
    'rejects unknown modes and behaviors, and the root': async ({ expectError, runNamespace }) => {
      await expectError('DropNamespace', runNamespace, { body: { mode: 'Maybe' } }, 'InvalidInput')
      await expectError('DropNamespace', runNamespace, { body: { behavior: 'Some' } }, 'InvalidInput')
      await expectError('DropNamespace', [], { body: {} }, 'InvalidInput')
    },
  },
})
