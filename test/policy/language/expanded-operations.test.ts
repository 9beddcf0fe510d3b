import { expect, it } from 'vitest'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'

it('expands a list of operations whatever was expanded before', () => {
  const vocabulary = createPolicyVocabulary({})
  // A forgotten comma makes one unknown name of two.
  expect(vocabulary.cover(['DropTable DescribeTable'], 'deny').permissions).toEqual(new Set())
  expect(vocabulary.cover(['DropTable', 'DescribeTable'], 'allow').permissions).toEqual(
    new Set(['DropTable', 'DescribeTable']),
  )
  const { permissions, implied } = vocabulary.cover(['DropTable', 'DescribeTable'], 'deny')
  expect([...permissions].filter((permission) => !implied.has(permission))).toEqual([
    'DropTable',
    'DescribeTable',
  ])
})
