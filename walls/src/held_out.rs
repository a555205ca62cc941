//! Third-party servers that appear in no other family, in more languages.
//!
//! The judge was neither fitted to them nor mended because of one of them: a scenario here changes
//! when its label is wrong, never because a verdict is. Their start scripts are in
//! `walls/held-out`, a folder for each. Loads and placements are those of ordinary software.

use crate::scenario::Scenario;

mod actix_block;
mod actix_mutex;
mod actix_sync;
mod aiohttp_semaphore;
mod aiohttp_sockets;
mod aiohttp_timers;
mod echo_files;
mod echo_refuse;
mod fastify_limit;
mod gin_cpus;
mod gin_light;
mod gin_one_cpu;
mod gin_wait;
mod hypnotoad_workers;
mod inets_refuse;
mod koa_pool;
mod koa_row;
mod lighttpd_light;
mod lighttpd_throttle;
mod piscina_threads;
mod squid_origin;
mod thin_blocked;
mod tornado_executor;
mod twisted_lock;
mod undertow_refuse;
mod undertow_workers;
mod unicorn_log;
mod unicorn_sync;
mod unicorn_workers;
mod uwsgi_queue;
mod vertx_defence;
mod vertx_heap;
mod vertx_light;
mod virtual_lock;
mod virtual_pinned;
mod waitress_threads;
mod warp_lock;
mod warp_quota;
mod yaws_process;

/// Every scenario of the family, in the order of the table.
pub const ALL: &[&Scenario] = &[
    &aiohttp_semaphore::SCENARIO,
    &aiohttp_sockets::SCENARIO,
    &aiohttp_timers::SCENARIO,
    &tornado_executor::SCENARIO,
    &twisted_lock::SCENARIO,
    &waitress_threads::SCENARIO,
    &fastify_limit::SCENARIO,
    &piscina_threads::SCENARIO,
    &koa_pool::SCENARIO,
    &koa_row::SCENARIO,
    &undertow_workers::SCENARIO,
    &undertow_refuse::SCENARIO,
    &vertx_defence::SCENARIO,
    &vertx_heap::SCENARIO,
    &vertx_light::SCENARIO,
    &virtual_pinned::SCENARIO,
    &virtual_lock::SCENARIO,
    &echo_refuse::SCENARIO,
    &echo_files::SCENARIO,
    &gin_wait::SCENARIO,
    &gin_one_cpu::SCENARIO,
    &gin_cpus::SCENARIO,
    &gin_light::SCENARIO,
    &actix_block::SCENARIO,
    &actix_mutex::SCENARIO,
    &actix_sync::SCENARIO,
    &lighttpd_throttle::SCENARIO,
    &lighttpd_light::SCENARIO,
    &squid_origin::SCENARIO,
    &unicorn_workers::SCENARIO,
    &unicorn_log::SCENARIO,
    &unicorn_sync::SCENARIO,
    &thin_blocked::SCENARIO,
    &hypnotoad_workers::SCENARIO,
    &uwsgi_queue::SCENARIO,
    &yaws_process::SCENARIO,
    &inets_refuse::SCENARIO,
    &warp_lock::SCENARIO,
    &warp_quota::SCENARIO,
];
