import { request } from 'undici'
import { expect, it } from 'vitest'
import { startDev } from '../e2e/running-dev.ts'
import { isThorough } from '../support/thorough.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

it('the console is disabled by default', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const { statusCode, body } = await request(`${gateway.adminUrl}/console`)
  await body.dump()
  expect(statusCode).toBe(404)
})

it.runIf(isThorough)('dev enables the console and prints its URL', async () => {
  const dev = await startDev()
  try {
    const url = await dev.program.announced(/^console on (http:\S+)$/m)
    expect(url).toBe(`${dev.adminUrl}/console`)
    const { statusCode, headers, body } = await request(url)
    await body.dump()
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toContain('text/html')
  } finally {
    await dev.remove()
  }
})
