import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { eventually } from '../../support/eventually.ts'
import { respondText, runServer } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

it.each([
  ['before the first request', '', '\r\n'],
  ['behind a request', get, '\r\n\r\n'],
  ['of which half has arrived', get, '\r'],
])('empty lines %s do not begin a request', async (_, before, lines) => {
  const { url, errors, server } = await runServer((_request, response) => respondText(response, 'served'), {
    timeouts: { headersTimeoutMs: 300, keepAliveTimeoutMs: 600 },
  })
  const connection = openRawConnection(url)
  connection.write(before)
  if (before !== '') await connection.waitFor(/served$/)
  connection.write(lines)
  // The client would take an error for the response to its next request.
  expect((await connection.waitForEnd()).replace(/^[^]*served/, '')).toBe('')
  expect(errors.filter((reason) => reason !== 'idle_timeout')).toEqual([])
  await eventually(() => expect(server.connectionCount()).toBe(0))
})

it('a request behind empty lines is served', async () => {
  const { url } = await runServer((_request, response) => respondText(response, 'served'))
  const connection = openRawConnection(url)
  for (const part of ['\r', '\n\r\n', '\r', '\n', get]) {
    connection.write(part)
    await pause(5)
  }
  await connection.waitFor(/served$/)
})
