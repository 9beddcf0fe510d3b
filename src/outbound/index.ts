/**
 * How the program opens connections to others: through proxies, with private authorities, and over TLS.
 */

export { openOtlpClient, type OtlpClient, PostRefused, toOtlpAttributes, toSignalUrl } from './otlp-client.ts'
export { directOutbound, listDefaultAuthorities, openOutbound, type Outbound } from './outbound.ts'
export { type OutboundTarget, parseNoProxy, toTarget } from './proxies.ts'
export { describeConnectFailure, type OpenCallback, type SocketOpener } from './socket-opener.ts'
export { createHttpAgent, createUndiciConnector } from './undici-connector.ts'
