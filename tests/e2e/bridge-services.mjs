// Stand-ins for Google's and Apple's services that really speak their protocols: TLS under a private CA, OAuth,
// HTTP/2, their errors, and how they fail. The beginning of a device token decides how the service answers.
import { createPublicKey, createVerify, generateKeyPairSync, randomUUID, verify } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import http2 from 'node:http2';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TOKEN_LIFE_S = 3600;
const parts = (jwt) => jwt.split('.').map((part) => Buffer.from(part, 'base64url'));

/** A CA of our own and a certificate of localhost under it; the files stand in `directory`. */
export function makeCertificates(directory) {
    const file = (name) => join(directory, name);
    const openssl = (...args) => {
        const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
        if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
    };
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    openssl('req', '-x509', ...key, '-keyout', file('ca.key'), '-out', file('ca.pem'), '-subj', '/CN=bridge test CA', '-days', '2');
    openssl('req', ...key, '-keyout', file('server.key'), '-out', file('server.csr'), '-subj', '/CN=localhost');
    writeFileSync(file('server.ext'), 'subjectAltName=DNS:localhost\n');
    openssl('x509', '-req', '-in', file('server.csr'), '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial',
        '-out', file('server.pem'), '-days', '2', '-extfile', file('server.ext'));
    return { ca: file('ca.pem'), tls: { key: readFileSync(file('server.key')), cert: readFileSync(file('server.pem')) } };
}

/** The common part of both: the requests for each token. */
class Service {
    constructor() {
        this.requests = new Map(); // token → [{ at, headers, body }]
        this.sessions = new Set();
        this.down = false; // answers 503 to all
        this.refusing = false; // our credentials, for all
    }
    async listen(tls) {
        this.server = http2.createSecureServer(tls);
        this.server.on('session', (session) => {
            this.sessions.add(session);
            session.on('close', () => this.sessions.delete(session));
            session.on('error', () => {}); // of those that we break off
        });
        this.server.on('stream', (stream, headers) => {
            stream.on('error', () => {});
            let body = '';
            stream.setEncoding('utf8');
            stream.on('data', (data) => (body += data));
            // (a process that is killed leaves half of a request)
            stream.on('end', () => Buffer.byteLength(body) >= Number(headers['content-length'] ?? 0) && this.asked(stream, headers, body));
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `https://localhost:${this.server.address().port}`;
    }
    stop() {
        for (const session of this.sessions) session.destroy();
        return new Promise((resolve) => this.server.close(resolve));
    }
    /** Notes a request; how often the token has been asked for. */
    note(token, headers, body) {
        const all = this.requests.get(token) ?? [];
        all.push({ at: Date.now(), headers, body });
        this.requests.set(token, all);
        return all.length;
    }
    of(token) {
        return this.requests.get(token) ?? [];
    }
    answer(stream, status, body, headers = {}) {
        if (stream.destroyed) return;
        stream.respond({ ':status': status, ...(body && { 'content-type': 'application/json' }), ...headers });
        stream.end(body ? JSON.stringify(body) : '');
    }
    /** Ways to fail that are no answer; true if this was one. */
    misbehaves(stream, token, times) {
        if (times > 1) return false;
        if (token.startsWith('slow')) return true; // never answers
        if (token.startsWith('reset')) {
            stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
            return true;
        }
        if (token.startsWith('cut')) {
            stream.session.destroy();
            return true;
        }
        if (token.startsWith('goaway')) {
            // This request is not among those that are answered: its number is above the last one.
            stream.session.goaway(http2.constants.NGHTTP2_NO_ERROR, Math.max(0, stream.id - 2));
            stream.session.destroy();
            return true;
        }
        return false;
    }
}

const googleError = (code, status, errorCode) => ({
    error: {
        code, status, message: 'as Google says it',
        ...(errorCode && { details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }] }),
    },
});

/** Google: the token server and FCM's HTTP v1 API behind one port. */
export class Fcm extends Service {
    constructor() {
        super();
        const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        this.publicKey = publicKey;
        this.account = {
            type: 'service_account', project_id: 'my-project', private_key_id: 'key-1',
            private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
            client_email: 'push@my-project.iam.example', token_uri: 'https://oauth2.example/token',
        };
        this.grants = 0;
        this.tokens = new Set();
    }
    asked(stream, headers, body) {
        if (headers[':path'] === '/token') return this.grant(stream, headers, body);
        if (headers[':path'] !== '/v1/projects/my-project/messages:send') return this.answer(stream, 404);
        const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
        const message = JSON.parse(body).message;
        const times = this.note(message.token, headers, message);
        if (!this.tokens.has(bearer)) return this.answer(stream, 401, googleError(401, 'UNAUTHENTICATED'));
        if (this.refusing) return this.answer(stream, 403, googleError(403, 'PERMISSION_DENIED'));
        if (this.down) return this.answer(stream, 503, googleError(503, 'UNAVAILABLE', 'UNAVAILABLE'));
        if (this.misbehaves(stream, message.token, times)) return undefined;
        const kind = message.token.split('-')[0];
        if (kind === 'gone') return this.answer(stream, 404, googleError(404, 'NOT_FOUND', 'UNREGISTERED'));
        if (kind === 'bad') return this.answer(stream, 400, googleError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'));
        if (kind === 'foreign') return this.answer(stream, 403, googleError(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'));
        if (kind === 'dead') return this.answer(stream, 500, googleError(500, 'INTERNAL', 'INTERNAL'));
        if (times === 1 && kind === 'quota') {
            return this.answer(stream, 429, googleError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), { 'retry-after': '3' });
        }
        if (times === 1 && kind === 'flaky') return this.answer(stream, 503, googleError(503, 'UNAVAILABLE', 'UNAVAILABLE'));
        return this.answer(stream, 200, { name: `projects/my-project/messages/${randomUUID()}` });
    }
    grant(stream, headers, body) {
        const form = new URLSearchParams(body);
        const assertion = form.get('assertion') ?? '';
        const [header, claims, signature] = parts(assertion);
        const good = form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
            headers['content-type'] === 'application/x-www-form-urlencoded' &&
            createVerify('RSA-SHA256').update(assertion.slice(0, assertion.lastIndexOf('.'))).verify(this.publicKey, signature);
        const { iss, aud, scope, iat, exp } = JSON.parse(claims);
        const known = iss === this.account.client_email && aud === this.account.token_uri &&
            scope === 'https://www.googleapis.com/auth/firebase.messaging' && exp - iat === 3600 && JSON.parse(header).kid === 'key-1';
        if (!good || !known) return this.answer(stream, 400, { error: 'invalid_grant' });
        const token = `granted-${++this.grants}`;
        this.tokens.add(token);
        return this.answer(stream, 200, { access_token: token, expires_in: TOKEN_LIFE_S, token_type: 'Bearer' });
    }
    /** All that was granted is void. */
    revoke() {
        this.tokens.clear();
    }
}

/** Apple: HTTP/2 alone, a token in each request. */
export class Apns extends Service {
    constructor() {
        super();
        const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        this.publicKey = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
        this.p8 = privateKey.export({ type: 'pkcs8', format: 'pem' });
        this.about = { team_id: 'TEAM123456', key_id: 'KEY1234567', key_file: 'AuthKey.p8', topic: 'org.example.app' };
    }
    asked(stream, headers, body) {
        const token = /^\/3\/device\/([^/]+)$/.exec(headers[':path'])?.[1];
        if (!token) return this.answer(stream, 404, { reason: 'BadPath' });
        const times = this.note(token, headers, JSON.parse(body));
        if (this.refusing || !this.isOurs(headers.authorization ?? '')) return this.answer(stream, 403, { reason: 'InvalidProviderToken' });
        if (headers['apns-topic'] !== this.about.topic) return this.answer(stream, 400, { reason: 'BadTopic' });
        if (this.down) return this.answer(stream, 503, { reason: 'ServiceUnavailable' });
        if (this.misbehaves(stream, token, times)) return undefined;
        const kind = token.split('-')[0];
        if (kind === 'gone') return this.answer(stream, 410, { reason: 'Unregistered', timestamp: Date.now() });
        if (kind === 'bad') return this.answer(stream, 400, { reason: 'PayloadEmpty' });
        if (kind === 'foreign') return this.answer(stream, 400, { reason: 'BadDeviceToken' });
        if (times === 1 && kind === 'quota') return this.answer(stream, 429, { reason: 'TooManyRequests' }, { 'retry-after': '3' });
        if (times === 1 && kind === 'flaky') return this.answer(stream, 500, { reason: 'InternalServerError' });
        return this.answer(stream, 200, null, { 'apns-id': headers['apns-id'] });
    }
    isOurs(authorization) {
        const jwt = /^bearer (.+)$/.exec(authorization)?.[1];
        if (!jwt) return false;
        const [header, claims, signature] = parts(jwt);
        const { alg, kid } = JSON.parse(header);
        const { iss, iat } = JSON.parse(claims);
        return alg === 'ES256' && kid === this.about.key_id && iss === this.about.team_id && Math.abs(Date.now() / 1000 - iat) < 3600 &&
            verify('sha256', Buffer.from(jwt.slice(0, jwt.lastIndexOf('.'))), { key: this.publicKey, dsaEncoding: 'ieee-p1363' }, signature);
    }
}
