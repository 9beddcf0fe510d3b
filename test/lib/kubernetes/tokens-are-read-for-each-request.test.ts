import { rm, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { sendJson, startScriptedApiServer } from './scripted-api-server.ts'

it('sends the present content of the token file', async () => {
  const { client, tokenFile, requests } = await startScriptedApiServer(sendJson({}))
  await client.get('/api')
  await writeFile(tokenFile, 'second-token')
  await client.get('/api')
  expect(requests.map(({ authorization }) => authorization)).toEqual([
    'Bearer first-token',
    'Bearer second-token',
  ])
})

it('sends nothing without a token, and does not report its path', async () => {
  const { client, tokenFile, requests } = await startScriptedApiServer(sendJson({}))
  await rm(tokenFile)
  await expect(client.get('/api')).rejects.toMatchObject({
    message: 'the token for the API server cannot be read',
  })
  expect(requests).toEqual([])
})
