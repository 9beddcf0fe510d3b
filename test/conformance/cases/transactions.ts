import { equal, match } from 'node:assert/strict'
import { cases, type Fixture } from '../fixture.ts'

/** The id of the transaction that created the table: the id of the table and the version. */
async function transaction({ table }: Fixture): Promise<readonly string[]> {
  return [...(await table()), '1']
}

export const transactionCases = cases({
  DescribeTransaction: {
    'describes a successful transaction': async (fixture) => {
      const { status } = await fixture.ok('DescribeTransaction', await transaction(fixture), { body: {} })
      match(String(status), /^succeeded$/i)
    },
    'rejects a missing transaction': async ({ expectError, sampleTable }) => {
      await expectError('DescribeTransaction', [...sampleTable, '99'], { body: {} }, 'TransactionNotFound')
    },
  },
  AlterTransaction: {
    'sets and unsets properties': async (fixture) => {
      const id = await transaction(fixture)
      const alter = async (action: object) => {
        const response = await fixture.ok('AlterTransaction', id, { body: { actions: [action] } })
        return (response['properties'] as Record<string, string>)['owner']
      }
      equal(await alter({ setPropertyAction: { key: 'owner', value: 'ann' } }), 'ann')
      equal(await alter({ setPropertyAction: { key: 'owner', value: 'bob', mode: 'Skip' } }), 'ann')
      const body = { actions: [{ setPropertyAction: { key: 'owner', value: 'bob', mode: 'Fail' } }] }
      await fixture.expectError('AlterTransaction', id, { body }, 'ConcurrentModification')
      equal(await alter({ unsetPropertyAction: { key: 'owner' } }), undefined)
    },
    'applies all actions or none': async (fixture) => {
      const id = await transaction(fixture)
      const actions = [
        { setPropertyAction: { key: 'owner', value: 'ann' } },
        { unsetPropertyAction: { key: 'absent', mode: 'Fail' } },
      ]
      await fixture.expectError('AlterTransaction', id, { body: { actions } }, 'InvalidInput')
      const { properties } = await fixture.ok('DescribeTransaction', id, { body: {} })
      equal((properties as Record<string, string>)['owner'], undefined)
    },
    'rejects actions of no kind and of two kinds': async (fixture) => {
      const id = await transaction(fixture)
      const set = { setPropertyAction: { key: 'a', value: 'b' } }
      for (const actions of [[], [{}], [{ ...set, setStatusAction: { status: 'Failed' } }]]) {
        await fixture.expectError('AlterTransaction', id, { body: { actions } }, 'InvalidInput')
      }
    },
  },
})
