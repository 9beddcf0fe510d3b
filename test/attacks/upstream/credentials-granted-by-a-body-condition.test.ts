import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// Vended credentials are authorized like anything else: a rule with a condition on the body grants them to matching
// bodies only, and cannot be decided from the head.
const attacked = attackedGateway({
  users: ['reader'],
  policies: [
    policyOf(
      ['lake'],
      [
        ruleFor(['reader'], ['read']),
        ruleFor(['reader'], ['VendCredentials'], { when: 'tag == "released"' }),
      ],
    ),
  ],
})

const whole = '{"location":"s3://b/t","storage_options":{"aws_secret_access_key":"S"}}'
const target = '/v1/table/lake$t/describe'

it.each<[label: string, body: object | undefined, left: string]>([
  ['of the tag', { tag: 'released' }, whole],
  ['of the tag, and no word of credentials', { tag: 'released', vend_credentials: false }, whole],
  ['of the tag, asked for', { tag: 'released', vend_credentials: true }, whole],
  ['of another tag', { tag: 'v2' }, '{"location":"s3://b/t"}'],
  ['of no tag', {}, '{"location":"s3://b/t"}'],
  ['without a body', undefined, '{"location":"s3://b/t"}'],
  ['of a tag that is null', { tag: null }, '{"location":"s3://b/t"}'],
])('a description %s contains only what the rule grants', async (_label, body, left) => {
  attacked.upstream.handler = respondWith(200, whole)
  const response = await attacked.send({ as: 'reader', target, ...(body && { body }) })
  expect([response?.status, String(response?.bytes)]).toEqual([200, left])
})

it('denies a request for credentials with another tag', async () => {
  await attacked.expectDenied(
    { as: 'reader', target, body: { tag: 'v2', vend_credentials: true } },
    /not allowed VendCredentials \(vend_credentials\) on "lake\$t"/,
  )
})
