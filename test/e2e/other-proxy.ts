import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { hasProgram } from '../support/requirements.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

export type ProxyProgram = 'haproxy' | 'nginx'

export const hasProxy: Readonly<Record<ProxyProgram, boolean>> = {
  haproxy: hasProgram('haproxy'),
  nginx: hasProgram('nginx'),
}

/** Address of the proxy and of the gateway. */
export const proxyAddress = '127.0.0.1'

interface HaproxySetup {
  readonly port: number
  readonly gatewayPort: number
  /** Of `bind`. */
  readonly bind?: string
  /** Lines of the frontend. */
  readonly lines?: readonly string[]
}

export function haproxy({ port, gatewayPort, bind = '', lines = [] }: HaproxySetup) {
  return `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend clients
  bind ${proxyAddress}:${port} ${bind}
${lines.map((line) => `  ${line}\n`).join('')}
  default_backend gateway
backend gateway
  server gateway ${proxyAddress}:${gatewayPort}
`
}

interface NginxSetup {
  readonly port: number
  readonly gatewayPort: number
  readonly header: string
  /** Of `listen`. */
  readonly listen?: string
  /** Lines of `http` and of `server`. */
  readonly http?: string
  readonly server?: string
}

export function nginx({ port, gatewayPort, header, listen = '', http = '', server = '' }: NginxSetup) {
  return `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ${http}
  server {
    listen ${proxyAddress}:${port} ${listen};
    ${server}
    location / {
      proxy_http_version 1.1;
      proxy_set_header ${header};
      proxy_pass http://${proxyAddress}:${gatewayPort};
    }
  }
}
`
}

/** Starts the proxy, and resolves when it accepts connections. It is stopped at the end of the test. */
export async function startProxy(program: ProxyProgram, configuration: string, port: number): Promise<void> {
  const folder = await temporaryFolder()
  const file = join(folder, 'proxy.conf')
  await writeFile(file, configuration)
  const parameters = program === 'haproxy' ? ['-f', file, '-db'] : ['-p', folder, '-c', file]
  const child = spawn(program, parameters, { stdio: ['ignore', 'ignore', 'pipe'] })
  let messages = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text))
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(messages)
    const probe = connect(port, proxyAddress)
    await once(probe, 'connect')
    probe.destroy()
  })
}
