import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { cases } from '../world.ts'

/** The operations that add, remove and change names of tables (interface sections 2.3 and 9). */
export const tableNameCases = cases({
  DropTable: {
    'it is gone afterwards': async ({ ok, refused, table }) => {
      const id = await table()
      const dropped = await ok('DropTable', id)
      deepEqual(dropped['id'] ?? id, id)
      await refused('DescribeTable', id, {}, 'TableNotFound')
      await refused('DropTable', id, {}, 'TableNotFound')
    },
    'a body that repeats the id is accepted, as is null': async ({ ok, table }) => {
      const id = await table()
      await ok('DropTable', id, { body: { id } })
      await ok('DropTable', await table(), { body: 'null' })
    },
  },
  RenameTable: {
    'it has the new name, here or in another namespace': async (world) => {
      const { ok, refused, home } = world
      const [id, target] = [await world.table(), await world.namespace()]
      await ok('RenameTable', id, { body: { new_table_name: `${id.at(-1)}_new` } })
      await refused('TableExists', id, {}, 'TableNotFound')
      const second = [...home, `${id.at(-1)}_new`]
      await ok('RenameTable', second, { body: { new_table_name: 'moved', new_namespace_id: target } })
      equal((await world.call('CountTableRows', [...target, 'moved'], { body: {} })).json, 3)
    },
    'a name that is taken, and a namespace that is not there, are refused': async (world) => {
      const { refused, standing, home } = world
      const id = await world.table()
      await refused('RenameTable', id, { body: { new_table_name: standing.at(-1) } }, 'TableAlreadyExists')
      const body = { new_table_name: 'x', new_namespace_id: [...home, 'absent'] }
      await refused('RenameTable', id, { body }, 'NamespaceNotFound')
      await refused('RenameTable', id, { body: { new_table_name: '' } }, 'InvalidInput')
    },
  },
  RegisterTable: {
    'a location outside of what the catalog keeps is refused': async ({ refused, fresh }) => {
      for (const location of ['../x.lance', '/etc', 's3://bucket/x.lance', 'a/../../x.lance', '']) {
        await refused('RegisterTable', fresh(), { body: { location } }, 'InvalidInput', 'PermissionDenied')
      }
    },
    'an unknown mode is refused': ({ refused, fresh }) =>
      refused('RegisterTable', fresh(), { body: { location: 'x.lance', mode: 'ExistOk' } }, 'InvalidInput'),
  },
  DeregisterTable: {
    'the name is forgotten': async ({ ok, refused, table }) => {
      const id = await table()
      const response = await ok('DeregisterTable', id, { body: {} })
      notEqual(response['location'], undefined)
      await refused('TableExists', id, {}, 'TableNotFound')
      await refused('DeregisterTable', id, { body: {} }, 'TableNotFound')
    },
  },
})
