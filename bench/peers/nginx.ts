import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { audience, callerName, issuer, type Callers } from '../callers.ts'
import type { Peer, PeerSetup } from '../peer.ts'
import { freePort } from '../../test/support/free-port.ts'
import { startServer, type ServerProcess } from '../server-process.ts'
import { findProgram } from './find-program.ts'

const moduleFolders = ['/usr/share/nginx/modules', '/usr/lib/nginx/modules', '/usr/lib64/nginx/modules']

/** nginx with checks in Lua, as in OpenResty. */
export const nginx: Peer = {
  name: 'nginx',
  what: 'nginx with keys, RS256 tokens and rights checked by its Lua module and OpenSSL, and a log line a request',
  credentials: ['key', 'token'],
  isJit: false,
  provide: async () => findProgram('nginx', '-v', /nginx\/(\S+)/),
  start,
}

async function start({
  folder,
  program,
  upstreamPort,
  callers,
  core,
  certificate,
}: PeerSetup): Promise<ServerProcess> {
  const port = await freePort()
  await mkdir(join(folder, 'temporary'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
    .join(' ')
  await writeFile(
    join(folder, 'nginx.conf'),
    `${modulesOfLua()}
daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  ${temporary}
  access_log ${folder}/nginx.log combined buffer=64k;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 64k;
  upstream catalog {
    server 127.0.0.1:${upstreamPort};
    keepalive 128;
    keepalive_requests 1000000000;
  }
  init_by_lua_block {${checksInLua(callers)}}
  server {
    listen 127.0.0.1:${port}${certificate === undefined ? '' : ' ssl'};
    ${certificate === undefined ? '' : `ssl_certificate ${certificate.certFile}; ssl_certificate_key ${certificate.keyFile};`}
    location / {
      access_by_lua_block { check() }
      proxy_pass http://catalog;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header x-api-key "";
      proxy_set_header Authorization "";
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 64k;
    }
  }
}
`,
  )
  const command = [program.file, '-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')] as const
  return startServer({ name: 'nginx', folder, command, port, core })
}

function modulesOfLua(): string {
  const folder = moduleFolders.find((each) => existsSync(join(each, 'ngx_http_lua_module.so')))
  if (folder === undefined)
    throw new Error('its Lua module is not on this machine: apt-get install libnginx-mod-http-lua')
  const needed = ['ndk_http_module.so', 'ngx_http_lua_module.so']
  return needed.map((file) => `load_module ${join(folder, file)};`).join('\n')
}

function checksInLua(callers: Callers): string {
  return `
    local function read(file)
      local handle = assert(io.open(file, 'rb'))
      local text = handle:read('*a')
      handle:close()
      return text
    end
    local json = require 'cjson.safe'
    local digest = require 'openssl.digest'
    local decode = require('ngx.base64').decode_base64url
    local key = require('openssl.pkey').new(read('${callers.publicKeyFile}'))
    local principals = {}
    for text, principal in read('${callers.keyMapFile}'):gmatch('(%S+) (%S+)') do principals[text] = principal end
    local rights = { ['${callerName}'] = '/v1/table/bench$' }

    local function principal_of_token(authorization)
      local head, payload, signature = authorization:match('^Bearer ([^.]+)%.([^.]+)%.([^.]+)$')
      if not head then return nil end
      local header, claims = json.decode(decode(head) or ''), json.decode(decode(payload) or '')
      if not header or header.alg ~= 'RS256' or not claims then return nil end
      if claims.iss ~= '${issuer}' or claims.aud ~= '${String(audience)}' then return nil end
      if type(claims.exp) ~= 'number' or claims.exp <= ngx.time() then return nil end
      local good = key:verify(decode(signature) or '', digest.new('sha256'):update(head .. '.' .. payload))
      return good and claims.sub or nil
    end

    function check()
      local target = ngx.var.request_uri:lower()
      if target:find('..', 1, true) or target:find('%2e', 1, true) then return ngx.exit(400) end
      local api_key, authorization = ngx.var.http_x_api_key, ngx.var.http_authorization
      local principal
      if api_key then principal = principals[api_key]
      elseif authorization then principal = principal_of_token(authorization) end
      if not principal then return ngx.exit(401) end
      local prefix = rights[principal]
      if not prefix or ngx.var.uri:sub(1, #prefix) ~= prefix then return ngx.exit(403) end
    end
  `
}
