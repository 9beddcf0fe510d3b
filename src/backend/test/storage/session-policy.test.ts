import { expect, it } from 'vitest'
import { buildSessionPolicy } from '../../storage/vending.ts'

const location = 's3://lake/some/prefix/tables/0123456789abcdef0123456789abcdef.lance'

it('limits the policy to the objects of the table', () => {
  const policy = buildSessionPolicy(location, 'write', 'aws-cn') ?? ''
  const names = policy.match(/arn:[^"]+/g)
  const table = 'arn:aws-cn:s3:::lake/some/prefix/tables/0123456789abcdef0123456789abcdef.lance'
  expect(names).toEqual(['arn:aws-cn:s3:::lake', `${table}/*`, `${table}/*.manifest`])
  expect(policy.length).toBeLessThan(1000)
})

it.each([
  ['a star', 's3://lake/tables/*.lance'],
  ['a question mark', 's3://lake/tables/?.lance'],
  ['a variable', 's3://lake/tables/${aws:username}.lance'],
  ['a quotation mark', 's3://lake/tables/a".lance'],
  ['a line feed', 's3://lake/tables/a.lance\n'],
  ['no key', 's3://lake/'],
  ['another scheme', 'file:///lake/tables/a.lance'],
  ['a name that is too long', `s3://lake/${'a'.repeat(700)}.lance`],
])('there is none for a location with %s', (_what, location) => {
  expect(buildSessionPolicy(location, 'write', 'aws')).toBeUndefined()
})
