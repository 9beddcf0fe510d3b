import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { promisify } from 'node:util'
import { hasProgram } from '../../support/requirements.ts'

const openssl = (...words: string[]) => promisify(execFile)('openssl', words)

export function hasOpenssl(): boolean {
  return hasProgram('openssl')
}

export interface TestCertificate {
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
}

export interface TestAuthority extends TestCertificate {
  /** Signs a certificate for these subject alternative names, such as `DNS:a, URI:spiffe://b`. */
  issue(name: string, alternativeNames: string, options?: IssueOptions): Promise<TestCertificate>
  revocationList(revoked: readonly TestCertificate[]): Promise<string>
}

interface IssueOptions {
  readonly days?: number
  readonly usage?: 'clientAuth' | 'serverAuth'
}

interface AuthorityOptions {
  readonly days?: number
  /** The authority above it; none for one that signs itself. */
  readonly issuer?: TestAuthority
}

export async function makeAuthority(
  folder: string,
  authority: string,
  { days = 2, issuer }: AuthorityOptions = {},
): Promise<TestAuthority> {
  const file = (name: string): string => join(folder, name)
  const newKey = (name: string) => {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    return [...curve, '-nodes', '-keyout', file(`${name}.key`)]
  }
  const extensions = ['-subj', `/CN=${authority}`, '-addext', 'basicConstraints=critical,CA:TRUE']
  const request = ['req', ...newKey(authority), ...extensions]
  const lifetime = ['-days', String(days), '-out', file(`${authority}.pem`)]
  if (issuer === undefined) await openssl(...request, '-x509', ...lifetime)
  else {
    await openssl(...request, '-out', file(`${authority}.csr`))
    const signed = [
      '-CA',
      issuer.certFile,
      '-CAkey',
      issuer.keyFile,
      '-CAcreateserial',
      '-copy_extensions',
      'copy',
    ]
    await openssl('x509', '-req', '-in', file(`${authority}.csr`), ...signed, ...lifetime)
  }
  const signer = ['-CA', file(`${authority}.pem`), '-CAkey', file(`${authority}.key`), '-CAcreateserial']

  return {
    ...(await read(authority)),
    async issue(name, alternativeNames, { days = 2, usage } = {}) {
      const extensions = alternativeNames === '' ? [] : [`subjectAltName=${alternativeNames}`]
      if (usage !== undefined) extensions.push(`extendedKeyUsage=${usage}`)
      await openssl('req', ...newKey(name), '-subj', `/CN=${name}`, '-out', file(`${name}.csr`))
      await writeFile(file(`${name}.ext`), `basicConstraints=CA:FALSE\n${extensions.join('\n')}\n`)
      const signed = ['-days', String(days), '-extfile', file(`${name}.ext`), '-out', file(`${name}.pem`)]
      await openssl('x509', '-req', '-in', file(`${name}.csr`), ...signer, ...signed)
      return read(name)
    },
    async revocationList(revoked) {
      const database = file(`${authority}.index`)
      const section = `[ca]\ndatabase=${database}\ndefault_md=sha256\ndefault_crl_days=1\n`
      await writeFile(file(`${authority}.cnf`), `[default]\ndefault_ca=ca\n${section}`)
      await writeFile(database, '')
      const configured = ['-config', file(`${authority}.cnf`), '-name', 'ca']
      const own = ['-cert', file(`${authority}.pem`), '-keyfile', file(`${authority}.key`)]
      for (const { certFile } of revoked) await openssl('ca', ...configured, ...own, '-revoke', certFile)
      await openssl('ca', ...configured, ...own, '-gencrl', '-out', file(`${authority}.crl`))
      return readFile(file(`${authority}.crl`), 'utf8')
    },
  }

  async function read(name: string): Promise<TestCertificate> {
    const [certFile, keyFile] = [file(`${name}.pem`), file(`${name}.key`)]
    return {
      cert: await readFile(certFile, 'utf8'),
      key: await readFile(keyFile, 'utf8'),
      certFile,
      keyFile,
    }
  }
}

/** Whether node:tls shows the issuers that a client below `root` has sent: Node 24.20 and 26.8 do not. */
export async function showsSentIssuers(root: TestAuthority, client: TestCertificate): Promise<boolean> {
  const { cert, key } = client
  const listening = createServer({ cert, key, ca: root.cert, requestCert: true })
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const shown = new Promise<boolean>((resolve) =>
    listening.on('secureConnection', (socket) =>
      resolve(socket.getPeerCertificate(true).issuerCertificate !== undefined),
    ),
  )
  const socket = connect({ cert, key, host: '127.0.0.1', port: address.port, rejectUnauthorized: false })
  try {
    return await shown
  } finally {
    socket.destroy()
    listening.close()
  }
}
