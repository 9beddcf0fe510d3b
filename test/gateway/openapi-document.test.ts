import { expect, test } from 'vitest'
import { runningBackend } from '../backend/running-backend.ts'
import { openApiText } from '../../src/interface/openapi.ts'
import { gatewayAndUpstream } from './running-gateway.ts'

async function fetchDocument(url: string) {
  const answer = await fetch(`${url}/openapi.json`)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  return { status: answer.status, text: await answer.text() }
}

test('the gateway tells everybody the interface, and asks no upstream for it', async () => {
  const { gateway, upstream } = await gatewayAndUpstream()
  expect(await fetchDocument(gateway.url)).toEqual({ status: 200, text: openApiText() })
  expect(upstream.arrivals).toHaveLength(0)
  expect((await gateway.post('/openapi.json')).status).toBe(404)
})

test('so does the reference catalog, also where it wants a token', async () => {
  const { url } = await runningBackend({ accessToken: 'correct-horse-battery-staple' })
  expect(await fetchDocument(url())).toEqual({ status: 200, text: openApiText() })
})
