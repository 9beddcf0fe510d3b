import { once } from 'node:events'
import { request, type ClientRequest } from 'node:http'
import { expect, vi } from 'vitest'
import { errorOf, type runningBackend } from './running-backend.ts'

/** Begins an insert into the table `t` that takes all memory for Arrow data, and sends the first byte of its body. */
export async function heldUpload(
  { url, post }: Pick<Awaited<ReturnType<typeof runningBackend>>, 'url' | 'post'>,
  bytes: number,
): Promise<ClientRequest> {
  // The upload that asks may be first.
  return await vi.waitFor(
    async () => {
      const headers = { expect: '100-continue', 'content-length': bytes }
      const held = request(`${url()}/v1/table/t/insert`, { method: 'POST', headers }).on('error', () => {})
      held.flushHeaders()
      try {
        await once(held, 'continue')
        held.write(Buffer.from([255]))
        const refused = errorOf('ServiceUnavailable')
        await expect.poll(() => post('/v1/table/t/insert', new Uint8Array(1))).toEqual(refused)
        return held
      } catch (error) {
        held.destroy()
        throw error
      }
    },
    { timeout: 10_000 },
  )
}
