/**
 * Who sends a request: `createAuthenticator` turns its credentials into a `Principal`, or refuses them with an
 * `AuthenticationError`. API keys are created, revoked and rotated in their store.
 */
export { readBootstrapKey, type StaticKey } from './api-keys/api-keys.ts'
export {
  type CreatedKey,
  createKey,
  describeUnusableKeys,
  readOrCreatePepper,
  readPepper,
  revokeKey,
  rotateKey,
} from './api-keys/key-store.ts'
export { listKeys, type StoredKey } from './api-keys/key-store-file.ts'
export { type ApplicationPrincipal, authenticateByApplication } from './application.ts'
export { type AssertionSigner, jwksPath, openAssertionSigner } from './assertion/assertions.ts'
export { type Authenticator, createAuthenticator, type Credentials } from './authenticate.ts'
export { AuthenticationError, challenge } from './authentication-error.ts'
export { type JwksStatus, readJwksFile } from './jwt/open-jwks.ts'
export { anonymousPrincipal, authenticationMethods, type Principal } from './principal.ts'
export type { KeyChange } from './runtime.ts'
