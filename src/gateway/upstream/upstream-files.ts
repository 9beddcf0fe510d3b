import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { withAbsoluteAddressFiles } from '../../interface/catalog-address.ts'
import { readPemFile } from '../../interface/pem-file.ts'
import type { UpstreamSettings } from './upstream-settings.ts'
import type { UpstreamOptions } from './upstream.ts'

/** The settings with every path of a file made absolute. */
export function withAbsoluteFiles(
  settings: UpstreamSettings,
  absolute: (path: string) => string,
): UpstreamSettings {
  const { clientCertificate } = settings
  return {
    ...withAbsoluteAddressFiles(settings, absolute),
    ...(clientCertificate && {
      clientCertificate: {
        certificate: absolute(clientCertificate.certificate),
        key: absolute(clientCertificate.key),
      },
    }),
  }
}

/** The files that the settings name. */
export function filesOf({ certificateAuthority, clientCertificate, credential }: UpstreamSettings): string[] {
  const files = [
    certificateAuthority,
    clientCertificate?.certificate,
    clientCertificate?.key,
    credential?.file,
  ]
  return files.filter((file) => file !== undefined)
}

/**
 * Reads the files that the settings name. Throws what reading throws, and for a certificate, an authority or a key
 * that cannot be used.
 */
export async function readUpstreamFiles(settings: UpstreamSettings): Promise<UpstreamOptions> {
  const { certificateAuthority, clientCertificate, serverName, credential } = settings
  const tls = {
    ca: certificateAuthority && (await readPemFile(certificateAuthority, 'CERTIFICATE')),
    cert: clientCertificate && (await readPemFile(clientCertificate.certificate, 'CERTIFICATE')),
    key: clientCertificate && (await readPemFile(clientCertificate.key, 'PRIVATE KEY')),
    servername: serverName,
  }
  assertUsable(tls)
  const value = credential?.file === undefined ? credential?.value : await readFile(credential.file, 'utf8')
  return { ...settings, tls, credentials: credential ? [credential.header, (value ?? '').trim()] : [] }
}

function assertUsable(tls: UpstreamOptions['tls']): void {
  try {
    createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key })
  } catch (error) {
    throw new Error('certificate and key for the upstream cannot be used', { cause: error })
  }
}
