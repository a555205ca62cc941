//! Actix Web. APP: block (a handler sleeps SLEEP_MS in `web::block`, in one of THREADS threads of
//! each worker), mutex (a handler sleeps while it holds a mutex, WORKERS workers), sync (each
//! request appends a line to a file and syncs it, also in `web::block`).

use actix_web::{App, HttpResponse, HttpServer, Responder, web};
use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

struct Settings {
    app: String,
    sleep: Duration,
    lock: Mutex<()>,
    file: Arc<File>,
}

async fn answer(settings: web::Data<Settings>) -> impl Responder {
    let sleep = settings.sleep;
    match settings.app.as_str() {
        "block" => web::block(move || thread::sleep(sleep)).await.is_ok(),
        "sync" => {
            let file = settings.file.clone();
            let store = move || (&*file).write_all(b"stored\n").and_then(|()| file.sync_data());
            web::block(store).await.is_ok_and(|stored| stored.is_ok())
        }
        _ => {
            let held = settings.lock.lock();
            thread::sleep(sleep);
            held.is_ok()
        }
    };
    HttpResponse::Ok().body("done\n")
}

fn number(name: &str, otherwise: f64) -> f64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn main() -> std::io::Result<()> {
    actix_web::rt::System::new().block_on(serve())
}

async fn serve() -> std::io::Result<()> {
    let settings = web::Data::new(Settings {
        app: env::var("APP").unwrap_or_default(),
        sleep: Duration::from_secs_f64(number("SLEEP_MS", 0.0) / 1000.0),
        lock: Mutex::new(()),
        file: Arc::new(OpenOptions::new().create(true).append(true).open("journal")?),
    });
    HttpServer::new(move || {
        App::new().app_data(settings.clone()).default_service(web::to(answer))
    })
    .workers(number("WORKERS", 1.0) as usize)
    .worker_max_blocking_threads(number("THREADS", 8.0) as usize)
    .bind(("0.0.0.0", number("PORT", 8080.0) as u16))?
    .run()
    .await
}
