import { match } from 'node:assert/strict'
import { cases } from '../fixture.ts'

export const transactionCases = cases({
  DescribeTransaction: {
    'describes a successful transaction': async ({ ok, table }) => {
      // The transaction that created the table: the id of the table and the version.
      const { status } = await ok('DescribeTransaction', [...(await table()), '1'], { body: {} })
      match(String(status), /^succeeded$/i)
    },
    'rejects a missing transaction': async ({ rejects, sampleTable }) => {
      await rejects('DescribeTransaction', [...sampleTable, '99'], {}, 'TransactionNotFound')
    },
  },
})
