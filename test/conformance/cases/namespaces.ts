import { deepEqual, equal } from 'node:assert/strict'
import { cases, createFamily as family } from '../fixture.ts'

const owned = { owner: 'ann' }

export const namespaceCases = cases({
  CreateNamespace: {
    'creates the namespace with its properties': async ({ ok, unusedId }) => {
      const id = unusedId()
      deepEqual((await ok('CreateNamespace', id, { body: { properties: owned } }))['properties'], owned)
      deepEqual((await ok('DescribeNamespace', id))['properties'], owned)
    },
    'rejects an existing name, in every spelling of the mode Create': async ({ rejects, namespace }) => {
      const id = await namespace()
      for (const mode of [undefined, null, 'Create', 'create', 'CREATE', '"Create"']) {
        await rejects('CreateNamespace', id, { mode }, 'NamespaceAlreadyExists')
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
    'rejects an unknown mode, and properties that are not strings': async ({ rejects, unusedId }) => {
      await rejects('CreateNamespace', unusedId(), { mode: 'Sometimes' }, 'InvalidInput')
      await rejects('CreateNamespace', unusedId(), { properties: { a: 1 } }, 'InvalidInput')
    },
    'rejects creating the root': ({ rejects }) =>
      rejects('CreateNamespace', [], {}, 'NamespaceAlreadyExists'),
    'rejects the name of a table': ({ rejects, sampleTable }) =>
      rejects('CreateNamespace', sampleTable, {}, 'NamespaceAlreadyExists'),
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
        await fixture.rejects('DropNamespace', id, { behavior }, 'NamespaceNotEmpty')
      }
      await fixture.ok('NamespaceExists', [...id, 'a'])
    },
    'drops everything below with the behavior Cascade': async (fixture) => {
      const id = await family(fixture)
      await fixture.ok('DropNamespace', id, { body: { behavior: 'cascade' } })
      await fixture.expectError('NamespaceExists', [...id, 'a'], {}, 'NamespaceNotFound')
    },
    'accepts a missing namespace with the mode Skip': async ({ ok, rejects, unusedId }) => {
      const id = unusedId()
      for (const mode of ['Skip', 'skip', '"Skip"']) await ok('DropNamespace', id, { body: { mode } })
      await rejects('DropNamespace', id, { mode: 'Fail' }, 'NamespaceNotFound')
    },
    'rejects unknown modes and behaviors, and the root': async ({ rejects, runNamespace }) => {
      await rejects('DropNamespace', runNamespace, { mode: 'Maybe' }, 'InvalidInput')
      await rejects('DropNamespace', runNamespace, { behavior: 'Some' }, 'InvalidInput')
      await rejects('DropNamespace', [], {}, 'InvalidInput')
    },
  },
})
