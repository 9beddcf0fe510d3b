import { expect, it } from 'vitest'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'

it('expands a list of operations whatever was expanded before', () => {
  const vocabulary = createPolicyVocabulary({})
  // A forgotten comma makes one unknown name of two.
  expect(vocabulary.expand(['DropTable DescribeTable'], 'deny')).toEqual(new Set())
  expect(vocabulary.expand(['DropTable', 'DescribeTable'], 'deny')).toEqual(
    new Set(['DropTable', 'DescribeTable']),
  )
  expect(vocabulary.expand(['DropTable', 'DescribeTable'], 'allow')).toEqual(
    new Set(['DropTable', 'DescribeTable']),
  )
})
