import { request } from 'undici'
import { expect, it } from 'vitest'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { useSharedGateway } from '../gateway/support/running-gateway.ts'

const suite = useSharedGateway({
  policies: [allowEverything],
  adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
})

async function post(body: unknown, headers: Record<string, string> = {}) {
  const response = await request(`${suite.gateway.adminUrl}/console/playground`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.statusCode, body: await response.body.json() }
}

const deny = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata:
  name: tried
namespace: [sales]
rules:
  - { id: frozen, effect: deny, subjects: { any: true }, operations: [all] }
`
const creation = { principal: 'dev', groups: [], operation: 'CreateNamespace', id: 'sales' }

it('shows the decision and its rules, and changes nothing', async () => {
  const { status, body } = await post({ text: deny, requests: [creation] })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    outcome: {
      decisions: [
        {
          before: true,
          after: false,
          explanation: expect.stringContaining('by tried/frozen (new policy:7)') as string,
        },
      ],
      tests: { count: 0 },
    },
  })
  expect((await suite.gateway.post('/v1/namespace/sales/create', { body: {} })).status).toBe(200)
})

it('a text replaces a file in force', async () => {
  const { statusCode, body: files } = await request(`${suite.gateway.adminUrl}/console/policy-files`)
  expect([statusCode, await files.json()]).toEqual([200, { files: ['policies.yaml'] }])
  const replaced = await post({ text: deny, file: 'policies.yaml', requests: [{ ...creation, id: 'lab' }] })
  expect(replaced.body).toMatchObject({ outcome: { decisions: [{ before: true, after: false }] } })
  const beside = await post({ text: deny, requests: [{ ...creation, id: 'lab' }] })
  expect(beside.body).toMatchObject({ outcome: { decisions: [{ before: true, after: true }] } })
})

it.for([
  ['an unknown operation', { text: deny, requests: [{ ...creation, operation: 'DropTabel' }] }, /DropTable/],
  ['an invalid id', { text: deny, requests: [{ ...creation, id: 'a//b' }] }, /empty/],
  ['a member that is not known', { text: deny, folder: '/etc' }, /expected a policy text/],
  ['a text that is too large', { text: 'x'.repeat(300_000) }, /at most 262144 bytes/],
] as const)('%s is refused with a message', async ([, sent, message]) => {
  expect(await post(sent)).toEqual({ status: 400, body: { error: expect.stringMatching(message) } })
})

it('one text is tried at a time', async () => {
  const statuses = (await Promise.all([post({ text: deny }), post({ text: deny })])).map(
    ({ status }) => status,
  )
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses).toContain(400)
})

it('another site cannot try a text', async () => {
  expect(await post({ text: deny }, { 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 })
  expect(await post({ text: deny }, { origin: 'https://evil.example' })).toMatchObject({ status: 403 })
})
