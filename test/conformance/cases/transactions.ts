import { equal, match } from 'node:assert/strict'
import { cases, type World } from '../world.ts'

/** The id of the transaction that created the table: the id of the table and the version. */
async function transaction({ table }: World): Promise<readonly string[]> {
  return [...(await table()), '1']
}

/** The operations on transactions (interface sections 2.8 and 9). */
export const transactionCases = cases({
  DescribeTransaction: {
    'a transaction that ended well says so': async (world) => {
      const { status } = await world.ok('DescribeTransaction', await transaction(world), { body: {} })
      match(String(status), /^succeeded$/i)
    },
    'one that is not there is refused': async ({ refused, standing }) => {
      await refused('DescribeTransaction', [...standing, '99'], { body: {} }, 'TransactionNotFound')
    },
  },
  AlterTransaction: {
    'properties are set and unset': async (world) => {
      const id = await transaction(world)
      const alter = async (action: object) => {
        const response = await world.ok('AlterTransaction', id, { body: { actions: [action] } })
        return (response['properties'] as Record<string, string>)['owner']
      }
      equal(await alter({ setPropertyAction: { key: 'owner', value: 'ann' } }), 'ann')
      equal(await alter({ setPropertyAction: { key: 'owner', value: 'bob', mode: 'Skip' } }), 'ann')
      const body = { actions: [{ setPropertyAction: { key: 'owner', value: 'bob', mode: 'Fail' } }] }
      await world.refused('AlterTransaction', id, { body }, 'ConcurrentModification')
      equal(await alter({ unsetPropertyAction: { key: 'owner' } }), undefined)
    },
    'all actions or none': async (world) => {
      const id = await transaction(world)
      const actions = [
        { setPropertyAction: { key: 'owner', value: 'ann' } },
        { unsetPropertyAction: { key: 'absent', mode: 'Fail' } },
      ]
      await world.refused('AlterTransaction', id, { body: { actions } }, 'InvalidInput')
      const { properties } = await world.ok('DescribeTransaction', id, { body: {} })
      equal((properties as Record<string, string>)['owner'], undefined)
    },
    'actions of no kind, or of two, are refused': async (world) => {
      const id = await transaction(world)
      const set = { setPropertyAction: { key: 'a', value: 'b' } }
      for (const actions of [[], [{}], [{ ...set, setStatusAction: { status: 'Failed' } }]]) {
        await world.refused('AlterTransaction', id, { body: { actions } }, 'InvalidInput')
      }
    },
  },
})
