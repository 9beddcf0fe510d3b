import { z } from 'zod'

export const crossSiteSchema = z.strictObject({
  allowedOrigins: z
    .array(z.string().refine(isOrigin, 'expected an origin as browsers send it: https://console.example'))
    .default([])
    .describe(
      'Origins whose pages may send requests with credentials that browsers add of themselves: client certificates, and ' +
        'what an embedding application authenticates by. Only needed for pages of other hosts, and behind a proxy that ' +
        'changes the host header.',
    ),
})

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}
