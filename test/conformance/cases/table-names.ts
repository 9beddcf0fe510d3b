import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { cases } from '../fixture.ts'

export const tableNameCases = cases({
  DropTable: {
    'drops the table': async ({ ok, expectError, table }) => {
      const id = await table()
      const dropped = await ok('DropTable', id)
      deepEqual(dropped['id'] ?? id, id)
      await expectError('DescribeTable', id, {}, 'TableNotFound')
      await expectError('DropTable', id, {}, 'TableNotFound')
    },
    'accepts the id of the route or null in the body': async ({ ok, table }) => {
      const id = await table()
      await ok('DropTable', id, { body: { id } })
      await ok('DropTable', await table(), { body: 'null' })
    },
  },
  RenameTable: {
    'renames the table within its namespace and to another one': async (fixture) => {
      const { ok, expectError, runNamespace } = fixture
      const [id, target] = [await fixture.table(), await fixture.namespace()]
      await ok('RenameTable', id, { body: { new_table_name: `${id.at(-1)}_new` } })
      await expectError('TableExists', id, {}, 'TableNotFound')
      const second = [...runNamespace, `${id.at(-1)}_new`]
      await ok('RenameTable', second, { body: { new_table_name: 'moved', new_namespace_id: target } })
      equal((await fixture.call('CountTableRows', [...target, 'moved'], { body: {} })).json, 3)
    },
    'rejects an existing name and a missing namespace': async (fixture) => {
      const { rejects, sampleTable, runNamespace } = fixture
      const id = await fixture.table()
      await rejects('RenameTable', id, { new_table_name: sampleTable.at(-1) }, 'TableAlreadyExists')
      const body = { new_table_name: 'x', new_namespace_id: [...runNamespace, 'absent'] }
      await rejects('RenameTable', id, body, 'NamespaceNotFound')
      await rejects('RenameTable', id, { new_table_name: '' }, 'InvalidInput')
    },
  },
  RegisterTable: {
    'registers the dataset of a deregistered table under another name': async (fixture) => {
      const { ok, table, unusedId, call } = fixture
      const { location } = await ok('DeregisterTable', await table(3), { body: {} })
      const id = unusedId()
      // Relative to the folder of the tables.
      await ok('RegisterTable', id, { body: { location: String(location).split('/').at(-1) } })
      equal((await call('CountTableRows', id)).json, 3)
    },
    'rejects a location outside of the catalog': async ({ rejects, unusedId }) => {
      for (const location of ['../x.lance', '/etc', 's3://bucket/x.lance', 'a/../../x.lance', '']) {
        await rejects('RegisterTable', unusedId(), { location }, 'InvalidInput', 'PermissionDenied')
      }
    },
    'rejects an unknown mode': ({ rejects, unusedId }) =>
      rejects('RegisterTable', unusedId(), { location: 'x.lance', mode: 'ExistOk' }, 'InvalidInput'),
  },
  DeregisterTable: {
    'removes the name': async ({ ok, expectError, rejects, table }) => {
      const id = await table()
      const response = await ok('DeregisterTable', id, { body: {} })
      notEqual(response['location'], undefined)
      await expectError('TableExists', id, {}, 'TableNotFound')
      await rejects('DeregisterTable', id, {}, 'TableNotFound')
    },
  },
})
