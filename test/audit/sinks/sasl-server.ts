import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

export interface SaslUser {
  readonly name: string
  readonly password: string
}

/** Response to a message; `isGood` once the login is decided. */
interface SaslResponse {
  readonly response: Buffer
  readonly isGood?: boolean
}

export const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

const iterations = 4_096
const nothing = Buffer.alloc(0)

/** The server side of a login: PLAIN (RFC 4616) or SCRAM (RFC 5802). Undefined for any other mechanism. */
export function saslServer(
  mechanism: string,
  user: SaslUser,
): ((message: Buffer) => SaslResponse) | undefined {
  if (mechanism === 'PLAIN') return (message) => plain(message, user)
  if (mechanism === 'SCRAM-SHA-256') return scram('sha256', user)
  return mechanism === 'SCRAM-SHA-512' ? scram('sha512', user) : undefined
}

function plain(message: Buffer, { name, password }: SaslUser): SaslResponse {
  const [, who, secret] = message.toString('utf8').split('\0')
  return { response: nothing, isGood: who === name && secret === password }
}

function scram(hash: 'sha256' | 'sha512', { name, password }: SaslUser): (message: Buffer) => SaslResponse {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, hash === 'sha256' ? 32 : 64, hash)
  const mac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest()
  let first: string | undefined
  let challenge = ''
  return (message) => {
    const text = message.toString('utf8')
    if (first === undefined) {
      first = text.slice('n,,'.length)
      challenge = `r=${memberOf(first, 'r')}${randomBytes(12).toString('hex')},s=${salt.toString('base64')},i=${iterations}`
      return { response: Buffer.from(challenge) }
    }
    const [withoutProof = '', proof = ''] = text.split(',p=')
    const exchanged = [first, challenge, withoutProof].join(',')
    const clientKey = mac(salted, 'Client Key')
    const signature = mac(createHash(hash).update(clientKey).digest(), exchanged)
    const expected = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)))
    const isGood = memberOf(first, 'n') === name && expected.equals(Buffer.from(proof, 'base64'))
    const verifier = mac(mac(salted, 'Server Key'), exchanged).toString('base64')
    return { response: isGood ? Buffer.from(`v=${verifier}`) : nothing, isGood }
  }
}

function memberOf(message: string, name: string): string {
  const member = message.split(',').find((each) => each.startsWith(`${name}=`))
  return member?.slice(name.length + 1) ?? ''
}
