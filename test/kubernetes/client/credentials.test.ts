import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createKubernetesClient } from '../../../src/kubernetes/kubernetes-client.ts'
import { startApiServerWithThings, thingsPath, type ApiServerWithThings } from './api-server-with-things.ts'

let server: ApiServerWithThings

beforeAll(async () => {
  server = await startApiServerWithThings()
}, 180_000)
afterAll(() => server.close())

it('reports why a token is refused, and uses the next one', async () => {
  const { url, caFile, folder, adminToken, client: administrator } = server
  const tokenFile = join(folder, 'rotated-token')
  await writeFile(tokenFile, 'an-expired-token')
  const client = createKubernetesClient({ apiServer: url, caFile, tokenFile })
  onTestFinished(() => client.close())
  await expect(client.get(thingsPath)).rejects.toMatchObject({
    status: 401,
    message: 'the API server returned status 401: Unauthorized',
  })
  const accounts = '/api/v1/namespaces/team-a/serviceaccounts'
  await administrator.post(accounts, { metadata: { name: 'nobody' } })
  const { status } = await administrator.post<{ readonly status: { readonly token: string } }>(
    `${accounts}/nobody/token`,
    { spec: {} },
  )
  await writeFile(tokenFile, status.token)
  await expect(client.get(thingsPath)).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('"system:serviceaccount:team-a:nobody" cannot list resource "things"'),
  })
  await writeFile(tokenFile, adminToken)
  await expect(client.get(thingsPath)).resolves.toMatchObject({ items: [] })
})
