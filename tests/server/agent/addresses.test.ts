import { describe, expect, test } from 'vitest';
import { bindAddress, clientAddress, isLoopback } from '@/server/agent/addresses';

test.each([
  ['127.0.0.1', true],
  ['127.3.4.5', true],
  ['localhost', true],
  ['[::1]', true],
  ['10.0.0.1', false],
  ['pool.example.com', false],
])('%s is loopback: %s', (host, expected) => expect(isLoopback(host)).toBe(expected));

describe('the data port is bound to', () => {
  test.each([
    ['loopback for a pool on this machine', 'http://127.0.0.1:3000', '127.0.0.1', '127.0.0.1'],
    ['all interfaces for a server elsewhere', 'http://pool.example.com:3000', '127.0.0.1', '0.0.0.0'],
    ['what is configured', 'http://127.0.0.1:3000', '0.0.0.0', '0.0.0.0'],
  ])('%s', (_, url, host, expected) => expect(bindAddress(url, host)).toBe(expected));
});

describe('clients are told', () => {
  const base = {
    configured: null,
    serverUrl: 'http://10.0.0.1:3000',
    localAddress: '10.0.0.7',
    workerAddress: '0.0.0.0:56001',
    port: 1,
  };
  test.each([
    ['the address by which the server is reached', base, '10.0.0.7:56001'],
    ['it also when it came as IPv4 in IPv6', { ...base, localAddress: '::ffff:10.0.0.7' }, '10.0.0.7:56001'],
    ['IPv6 in brackets', { ...base, localAddress: 'fd00::7' }, '[fd00::7]:56001'],
    ['loopback when the server is here', { ...base, serverUrl: 'http://localhost:3000' }, '127.0.0.1:56001'],
    ['the configured address', { ...base, configured: 'gpu7.example.com:443' }, 'gpu7.example.com:443'],
    ['the configured port without a worker', { ...base, workerAddress: null, port: 5 }, '10.0.0.7:5'],
  ])('%s', (_, facts, expected) => expect(clientAddress(facts)).toBe(expected));
});
