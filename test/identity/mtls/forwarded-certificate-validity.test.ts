import { X509Certificate } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { createAuthenticator } from '../../../src/identity/authenticate.ts'
import { hasOpenssl, makeAuthority } from './test-certificates.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.skipIf(!hasOpenssl())('a forwarded certificate is a credential only while it is valid', async () => {
  const folder = await temporaryFolder()
  const authority = await makeAuthority(folder, 'own')
  const { cert } = await authority.issue('good', 'URI:spiffe://a/b')
  const forwardedCertificate = new X509Certificate(cert)
  const [from, to] = [Date.parse(forwardedCertificate.validFrom), Date.parse(forwardedCertificate.validTo)]
  let now = from
  const authenticator = await createAuthenticator({
    clientCertificates: { name: 'mesh' },
    now: () => now,
  })
  onTestFinished(() => authenticator.close())
  const authenticate = () =>
    authenticator.authenticate({ apiKey: undefined, authorization: undefined, forwardedCertificate })
  for (now of [from, to - 1]) expect(authenticate()).toMatchObject({ name: 'mesh:spiffe://a/b' })
  for (now of [to, to + 86_400_000])
    expect(authenticate).toThrow(expect.objectContaining({ reason: 'expired_certificate' }))
  for (now of [from - 1, from - 86_400_000])
    expect(authenticate).toThrow(expect.objectContaining({ reason: 'untrusted_certificate' }))
})
