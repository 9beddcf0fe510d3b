import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createRequirePolicy } from '../support/policy-templates.ts'

// Whitespace, control characters and zero-width characters counted as a ticket.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createRequirePolicy('lake', { metadata: ['ticket'] })],
})

function commit(ticket: string): string {
  return `{"version":2,"manifest_path":"lake/t/_versions/2","metadata":{"ticket":"${ticket}"}}`
}
const target = '/v1/table/lake$t/version/create'

it.each(['', ' ', '\\u200b', '\\u0000', '\\u00ad', '\\u2800', '\\ufeff', '\\ue000', '\\u200b\\u0000 \\t'])(
  'the ticket "%s" is invalid',
  async (ticket) => {
    const body = commit(ticket)
    const expected = { kind: 'PermissionDenied', says: 'not allowed CreateTableVersion' } as const
    await attacked.expectRefused({ as: 'ci', target, body }, expected)
    const batch = `{"entries":[{"id":["lake","t"],${body.slice(1)}]}`
    await attacked.expectRefused(
      { as: 'ci', target: '/v1/table/version/batch-create', body: batch },
      expected,
    )
  },
)

it.each(['T-1', '\\u200bT', '0'])('the ticket "%s" is valid', async (ticket) => {
  await attacked.expectForwarded({ as: 'ci', target, body: commit(ticket) })
})
