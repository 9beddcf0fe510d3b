import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { servingGateway } from '../../observability/serving-gateway.ts'

// Clients of LanceDB send the values of secrets, and grants whose subject may be an API key: `a:KEY`.
const credential = `secret-${randomBytes(12).toString('hex')}`
const secret = { value: credential }
const subject = `a:${credential}`
const grant = { object: 'table:db:public$t', subject, privilege: 'SELECT' }
const roleBinding = { subject, role: 'reader' }

const requests: readonly (readonly [target: string, body: object])[] = [
  ['/v1/secret/token/create', secret],
  ['/v1/secret/team$token/alter', secret],
  ['/admin/authz/acl/list', { subject }],
  ['/admin/authz/acl/add', grant],
  ['/admin/authz/acl/delete', grant],
  ['/admin/authz/role_binding/list', { subject }],
  ['/admin/authz/role_binding/add', roleBinding],
  ['/admin/authz/role_binding/delete', roleBinding],
  ['/admin/authz/principal', { principal: subject }],
  ['/admin/authz/group', { group: subject }],
]

/** Subjects of no kind, which the gateway leaves to the upstream. */
const misread: readonly (readonly [target: string, body: object])[] = [credential, `A:${credential}`].map(
  (text) => ['/admin/authz/acl/add', { ...grant, subject: text }],
)

/** Bodies with the credential where the gateway refuses it, or that are no JSON. */
const malformed: readonly (readonly [target: string, body: object | string])[] = [
  ['/v1/secret/token/create', { value: [credential] }],
  ['/v1/secret/token/create', { value: { text: credential } }],
  ['/admin/authz/acl/add', { ...grant, subject: [subject] }],
  ['/admin/authz/acl/add', { ...grant, subject: { a: credential } }],
  ...requests.flatMap(([target, body]) => {
    const text = JSON.stringify(body)
    return [
      [target, { ...body, api_key: credential }],
      [target, text.slice(0, -1)],
      [target, `${text}${credential}`],
      [target, text.replace('{', `{"id":null,"id":"${credential}",`)],
      [target, credential],
    ] as const
  }),
]

async function readFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')))
}

it('gets into no log, audit record, metric or error', async () => {
  const gateway = await servingGateway({ log: { level: 'debug' } })
  const { upstream } = gateway
  const headers = { 'content-type': 'application/json' }
  const post = async (target: string, body: object | string, as = 'dev') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await gateway.post(target, { as, headers, body: text })
    return { status: response.status, text: await response.text() }
  }
  const refusals = await Promise.all([
    ...requests.map(([target, body]) => post(target, body, 'nobody')),
    ...malformed.map(([target, body]) => post(target, body)),
  ])
  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([400, 403]))
  expect(upstream.requests).toEqual([])

  const errors: string[] = []
  for (const status of [200, 409, 500]) {
    upstream.handler = respondWith(status, { error: `${credential} is there already`, code: 14 })
    for (const [target, body] of [...requests, ...misread]) {
      const response = await post(target, body)
      expect([target, response.status]).toEqual([target, status])
      if (status !== 200) errors.push(response.text)
    }
  }
  expect(upstream.requests).toHaveLength(3 * (requests.length + misread.length))
  await post('/admin/authz/acl/add', { ...grant, subject: 'g:readers' })

  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const log = await gateway.stop()
  const recorded = await readFiles(join(gateway.folder, 'audit'))
  for (const text of [...refusals.map(({ text }) => text), ...errors, metrics, log, ...recorded]) {
    expect(text).not.toContain(credential)
  }
  const records = recorded.join('\n')
  for (const operation of ['CreateSecret', 'AlterSecret', 'AddGrant', 'AddRoleBinding']) {
    expect(records).toContain(`"operation":"${operation}"`)
  }
  expect(records).toContain('"subject":"(a credential)"')
  expect(records).toContain('"subject":"g:readers"')
})
